"""Setting up a second factor, showing it after the password, and taking it away."""

import segno
from axes.handlers.proxy import AxesProxyHandler
from django import forms
from django.contrib.auth import logout
from django.contrib.auth.models import User
from django.contrib.auth.signals import user_login_failed
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django_otp import login as remember_device
from django_otp import match_token
from django_otp.plugins.otp_totp.models import TOTPDevice

from console.lockout import locked_out
from console.second_factor import Lacking, confirmed_devices, lacking
from delivery.operating.audit import audit, staff


class CodeForm(forms.Form):
    code = forms.CharField(
        max_length=10,
        label="Code",
        help_text="The six digits that your app shows now.",
        widget=forms.TextInput(attrs={"autocomplete": "one-time-code", "inputmode": "numeric", "autofocus": True}),
    )

    def clean_code(self) -> str:
        code: str = self.cleaned_data["code"].replace(" ", "")
        if not (code.isascii() and code.isdigit()):
            raise forms.ValidationError("A code has digits only.")
        return code


def second_factor(request: HttpRequest) -> HttpResponse:
    """The page of somebody who has logged in with a password, whatever they may do."""
    if not request.user.is_authenticated or not request.user.is_staff:
        return HttpResponseRedirect(reverse("admin:login"))
    user = request.user
    if lacking(user, request.session) is Lacking.CODE:
        return _ask_for_code(request, user)
    if confirmed_devices(user):
        return _offer_removal(request, user)
    return _set_up(request, user)


def _ask_for_code(request: HttpRequest, user: User) -> HttpResponse:
    form = CodeForm(request.POST or None)
    if form.is_valid():
        device = match_token(user, form.cleaned_data["code"])
        if device is not None:
            remember_device(request, device)
            return HttpResponseRedirect(_wanted(request))
        if refusal := _count_failure(request, user):
            return refusal
        form.add_error("code", "This code is not right, or was used already. After several failures, wait a moment.")
    return _page(request, "Second factor", form, button="Go on")


def _set_up(request: HttpRequest, user: User) -> HttpResponse:
    """The secret is the same until a first code shows that the app has it."""
    device, _ = TOTPDevice.objects.get_or_create(user=user, confirmed=False, defaults={"name": "app"})
    form = CodeForm(request.POST or None)
    if form.is_valid():
        if device.verify_token(form.cleaned_data["code"]):
            with transaction.atomic():
                TOTPDevice.objects.filter(pk=device.pk).update(confirmed=True)
                audit(by=staff(user), action="set up second factor", target=user.get_username())
            device.confirmed = True
            remember_device(request, device)
            return HttpResponseRedirect(_wanted(request))
        form.add_error("code", "This code is not right. Is the clock of your device?")
    picture = segno.make(device.config_url).svg_data_uri(scale=4, border=2, light="white")
    secret = device.config_url.partition("secret=")[2].partition("&")[0]
    return _page(request, "Set up a second factor", form, button="Set it up", picture=picture, secret=secret)


def _offer_removal(request: HttpRequest, user: User) -> HttpResponse:
    form = CodeForm(request.POST or None)
    if form.is_valid():
        if match_token(user, form.cleaned_data["code"]) is not None:
            with transaction.atomic():
                TOTPDevice.objects.filter(user=user).delete()
                audit(by=staff(user), action="remove second factor", target=user.get_username())
            return HttpResponseRedirect(_wanted(request))
        if refusal := _count_failure(request, user):
            return refusal
        form.add_error("code", "This code is not right, or was used already.")
    return _page(request, "Remove your second factor", form, button="Remove it")


def _count_failure(request: HttpRequest, user: User) -> HttpResponse | None:
    """A wrong code counts as a wrong password does. Too many of them end the login."""
    credentials = {"username": user.get_username()}
    user_login_failed.send(sender=__name__, credentials=credentials, request=request)
    if AxesProxyHandler.is_allowed(request, credentials):
        return None
    logout(request)
    return locked_out(request)


def _wanted(request: HttpRequest) -> str:
    wanted = request.GET.get("next", "")
    if url_has_allowed_host_and_scheme(wanted, {request.get_host()}, require_https=request.is_secure()):
        return wanted
    return reverse("admin:index")


def _page(request: HttpRequest, title: str, form: CodeForm, **context: str) -> HttpResponse:
    answer = render(request, "console/second_factor.html", {"title": title, "form": form, **context})
    answer["Cache-Control"] = "no-store"
    return answer
