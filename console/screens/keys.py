"""Keys, of all clients and of one. A new key is part of the answer that made it, and of nothing that is kept."""

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import Q
from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse

from clients.grants import in_usual_order, written_grants
from clients.key_forms import AddressesField, GrantsField, KeyRotationForm, MomentField, QuotasField
from clients.models import PREFIX_LENGTH, Client, Key
from clients.quotas import effective_quotas, written_quotas
from clients.selectors import grants_of, key_state, keys_with_grants
from console.asking import Question, answer, ask
from console.frame import page, screen
from console.paging import page_of
from delivery.operating.audit import staff
from delivery.operating.clients import NewKey, key_create, key_revoke, key_rotate
from delivery.operating.permissions import May

HAS_ENDED = Q(revoked_at__isnull=False) | Q(expires_at__lte=Now())
CHOICES = {"valid": ("valid", ~HAS_ENDED), "ended": ("revoked or expired", HAS_ENDED), "all": ("all", Q())}


@screen(May.LOOK)
def keys(request: HttpRequest) -> HttpResponse:
    """`state` is one of CHOICES, `of` part of a client's name, or how a key begins."""
    chosen = request.GET.get("state", "valid")
    wanted = request.GET.get("of", "").strip()
    found = keys_with_grants().filter(CHOICES.get(chosen, CHOICES["valid"])[1])
    if wanted:
        found = found.filter(Q(client__name__icontains=wanted) | Q(prefix__startswith=wanted[:PREFIX_LENGTH]))
    listed = page_of(request.GET, found.order_by(), order=["-id"])
    return page(
        request,
        "console/keys.html",
        title="Keys",
        lead="What programs connect with, newest first. Those that have ended stay, to show whose they were.",
        keys=shown_keys(listed.rows),
        listed=listed,
        choices=[(name, title) for name, (title, _) in CHOICES.items()],
        chosen=chosen if chosen in CHOICES else "valid",
        wanted=wanted,
    )


def shown_keys(listed: Iterable[Key]) -> list[tuple[Any, ...]]:
    """Each with its state, what it may do, and its quotas."""
    return [
        (key, key_state(key), _shown_grants(key), written_quotas(asdict(effective_quotas(key.quotas))))
        for key in listed
    ]


def _shown_grants(key: Key) -> list[tuple[str, list[str]]]:
    return [(pattern, in_usual_order(permissions)) for pattern, permissions in sorted(grants_of(key).items())]


class KeyForm(forms.Form):
    grants = GrantsField()
    expires_at = MomentField(label="Expires", empty="never")
    quotas = QuotasField()
    addresses = AddressesField()


@screen(May.MAKE_KEYS)
def key_new(request: HttpRequest, client_id: int) -> HttpResponse:
    owner = get_object_or_404(Client, pk=client_id)
    form = KeyForm(request.POST or None)
    question = Question(
        title=f"Make a key for {owner}",
        says=["The key is shown once, on the next page. Willow keeps only its hash."],
        button="Make the key",
        form=form,
    )
    if request.method == "POST" and form.is_valid():
        try:
            new = key_create(client_name=owner.name, **form.cleaned_data, by=staff(request.user))
        except ValidationError as refusal:
            form.add_error(None, refusal)
        else:
            return _show_once(request, new)
    return ask(request, question, back=reverse("console:client", args=[owner.pk]))


@screen(May.MAKE_KEYS)
def key_replace(request: HttpRequest, key_id: int) -> HttpResponse:
    old = get_object_or_404(keys_with_grants(), pk=key_id)
    form = KeyRotationForm(request.POST or None)
    question = Question(
        title=f"Rotate the key {old.prefix}…",
        says=[f"{old.client} gets a new key with the same grants, and the old one ends."],
        button="Rotate the key",
        form=form,
    )
    if request.method == "POST" and form.is_valid():
        try:
            new = key_rotate(key=old, **form.cleaned_data, by=staff(request.user))
        except ValidationError as refusal:
            form.add_error(None, refusal)
        else:
            return _show_once(request, new)
    return ask(request, question, back=reverse("console:client", args=[old.client_id]))


@screen(May.CHANGE_KEYS)
def key_end(request: HttpRequest, key_id: int) -> HttpResponse:
    key = get_object_or_404(Key.objects.select_related("client"), pk=key_id)
    question = Question(
        title=f"Revoke the key {key.prefix}…",
        says=[f"It ends now, for ever, and so do the connections of {key.client} that were made with it."],
        button="Revoke the key",
        destroys=True,
    )

    def act() -> str:
        key_revoke(key=key, by=staff(request.user))
        return f"Revoked the key {key.prefix}… of {key.client}."

    return answer(request, question, act, back=reverse("console:client", args=[key.client_id]))


def _show_once(request: HttpRequest, new: NewKey) -> HttpResponse:
    """Not by a redirect with a message: messages are stored in a cookie, or in the database if they are long."""
    answer_page = page(
        request,
        "console/new_key.html",
        title="A new key",
        client=new.record.client,
        key=new.record,
        secret=new.secret,
        grants=written_grants(grants_of(new.record)),
    )
    answer_page["Cache-Control"] = "no-store"
    return answer_page
