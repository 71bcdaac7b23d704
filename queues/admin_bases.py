"""What the admin's pages of all apps have in common."""

from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db.models import Model
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from unfold.admin import ModelAdmin, TabularInline

# What Django's list filters append to the name of their field.
FILTER_SUFFIXES = ("", "__exact", "__id__exact", "__isnull", "__isempty")


class FiltersOnly:
    """A list can be asked for what its filters offer, and for nothing else.

    Django lets the address of a list compare any field of its rows with any text, secret ones too, so that they could
    be guessed piece by piece.
    """

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        filters = self.get_list_filter(request)  # type: ignore[attr-defined]
        names = [entry if isinstance(entry, str) else entry[0] for entry in filters]
        return any(lookup == name + suffix for name in names for suffix in FILTER_SUFFIXES)


class ReadOnlyAdmin(FiltersOnly, ModelAdmin):
    """Pages to look at: these rows are the broker's own."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


class ReadOnlyInline(TabularInline):
    """Rows that belong to the object of the page, to look at."""

    extra = 0
    can_delete = False

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> Any:
        return self.fields

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


class ServiceAdmin(FiltersOnly, ModelAdmin):
    """Pages whose changes go through services. What a service refuses is told, and the page comes again."""

    def changeform_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return super().changeform_view(request, *args, **kwargs)
        except ValidationError as refusal:
            return self.tell_refusal(request, refusal)

    def delete_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return super().delete_view(request, *args, **kwargs)
        except ValidationError as refusal:
            return self.tell_refusal(request, refusal)

    def tell_refusal(self, request: HttpRequest, refusal: ValidationError) -> HttpResponse:
        for sentence in refusal.messages:
            self.message_user(request, sentence, messages.ERROR)
        return HttpResponseRedirect(request.get_full_path())
