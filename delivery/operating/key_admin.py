"""The admin's pages of keys. A new key is part of the answer that made it, and of nothing that is kept."""

from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from clients.grants import written_grants
from clients.key_forms import KeyChangeForm, KeyCreationForm, KeyRotationForm
from clients.models import Key
from clients.selectors import grants_of, key_state, keys_with_grants
from delivery.operating.audit import staff
from delivery.operating.clients import (
    NewKey,
    key_create,
    key_expire,
    key_revoke,
    key_rotate,
    key_set_addresses,
    key_set_grants,
    key_set_quotas,
)
from queues.admin_bases import ServiceAdmin


@admin.register(Key)
class KeyAdmin(ServiceAdmin):
    list_display = ["prefix", "client", "state", "granted", "created_at", "expires_at", "last_used_at"]
    list_filter = [("revoked_at", admin.EmptyFieldListFilter)]
    search_fields = ["prefix", "client__name"]
    show_full_result_count = False
    actions = ["rotate_keys", "revoke_keys"]
    form = KeyChangeForm
    readonly_fields = ["client", "prefix", "state", "created_at", "revoked_at", "last_used_at"]
    fields = [*readonly_fields, "grants", "expires_at", "quotas", "addresses"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Key]:
        return keys_with_grants()

    def has_delete_permission(self, request: HttpRequest, obj: Key | None = None) -> bool:
        """A key that has ended stays, so that people can see whose it was."""
        return False

    @admin.display
    def state(self, key: Key) -> str:
        return key_state(key)

    @admin.display(description="grants")
    def granted(self, key: Key) -> str:
        return " ".join(written_grants(grants_of(key)))

    def add_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not self.has_add_permission(request):
            raise PermissionDenied
        form = KeyCreationForm(request.POST or None)
        if form.is_valid():
            try:
                new = key_create(**form.cleaned_data, by=staff(request.user))
            except ValidationError as refusal:
                form.add_error(None, refusal)
            else:
                self.log_addition(request, new.record, "Made.")
                return self._show_once(request, [new])
        return self._ask(request, "Make a key", form)

    def save_model(self, request: HttpRequest, obj: Key, form: forms.ModelForm, change: bool) -> None:
        if "grants" in form.changed_data:
            key_set_grants(key=obj, grants=form.cleaned_data["grants"], by=staff(request.user))
        if "quotas" in form.changed_data:
            key_set_quotas(key=obj, quotas=form.cleaned_data["quotas"], by=staff(request.user))
        if "addresses" in form.changed_data:
            key_set_addresses(key=obj, addresses=form.cleaned_data["addresses"], by=staff(request.user))
        if "expires_at" in form.changed_data:
            key_expire(key=obj, at=form.cleaned_data["expires_at"], by=staff(request.user))

    @admin.action(description="Rotate selected keys", permissions=["add"])
    def rotate_keys(self, request: HttpRequest, keys: QuerySet[Key]) -> HttpResponse:
        form = KeyRotationForm(request.POST if "grace" in request.POST else None)
        if form.is_valid():
            try:
                with transaction.atomic():  # all or none: the new keys of some would be shown to nobody
                    new = [key_rotate(key=key, **form.cleaned_data, by=staff(request.user)) for key in keys]
            except ValidationError as refusal:
                form.add_error(None, refusal)
            else:
                for key in keys:
                    self.log_change(request, key, "Rotated.")
                return self._show_once(request, new)
        return self._ask(request, "Rotate keys", form, keys)

    @admin.action(description="Revoke selected keys", permissions=["change"])
    def revoke_keys(self, request: HttpRequest, keys: QuerySet[Key]) -> None:
        for key in keys:
            key_revoke(key=key, by=staff(request.user))
            self.log_change(request, key, "Revoked.")
        self.message_user(request, f"Revoked: {', '.join(key.prefix for key in keys)}.")

    def _ask(
        self, request: HttpRequest, title: str, form: forms.Form, keys: QuerySet[Key] | None = None
    ) -> HttpResponse:
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": title,
            "form": form,
            "keys": keys or (),
        }
        return TemplateResponse(request, "admin/clients/key/ask.html", context)

    def _show_once(self, request: HttpRequest, new_keys: list[NewKey]) -> HttpResponse:
        """Not by a message: messages are stored in a cookie, or in the database if they are long."""
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": "This is shown only this once",
            "new_keys": new_keys,
        }
        return TemplateResponse(request, "admin/clients/key/new_keys.html", context)
