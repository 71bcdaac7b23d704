"""What the admin's pages of all apps have in common."""

from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db.models import Model
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from unfold.admin import ModelAdmin, TabularInline


class ReadOnlyAdmin(ModelAdmin):
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


class ServiceAdmin(ModelAdmin):
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
