"""The admin's pages of queues and tags, as far as they only show: delivery/admin.py adds what changes them."""

from dataclasses import asdict
from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from unfold.admin import ModelAdmin

from queues.admin_bases import FiltersOnly, ServiceAdmin
from queues.definitions import CHANGEABLE_SETTINGS, default_settings
from queues.forms import QueueCreationForm, QueueSettingsForm
from queues.models import Queue, Tag


class QueueAdmin(ServiceAdmin):
    list_display = ["name", "listed_tags", "kind", "paused", "retry_limit", "heartbeat_timeout", "max_length"]
    list_filter = ["kind", "paused"]
    search_fields = ["name"]
    ordering = ["name", "id"]
    show_full_result_count = False

    @admin.display(description="tags")
    def listed_tags(self, queue: Queue) -> str:
        return ", ".join(queue.tags)

    def get_form(
        self, request: HttpRequest, obj: Queue | None = None, change: bool = False, **kwargs: Any
    ) -> type[forms.ModelForm]:
        form = QueueCreationForm if obj is None else QueueSettingsForm
        # Made anew by the admin, so that the fields look like those of its other pages.
        return super().get_form(request, obj, change, **{**kwargs, "form": form, "fields": form.Meta.fields})

    def get_fields(self, request: HttpRequest, obj: Queue | None = None) -> Any:
        if obj is None:
            return QueueCreationForm.Meta.fields
        return (*self.get_readonly_fields(request, obj), *CHANGEABLE_SETTINGS)

    def get_readonly_fields(self, request: HttpRequest, obj: Queue | None = None) -> Any:
        if obj is None:
            return ()
        return ("name", "listed_tags", "kind", "id", "paused", "newest_index", "defined_at", "changed_at")

    def get_changeform_initial_data(self, request: HttpRequest) -> Any:
        return asdict(default_settings(name=""))


class TagAdmin(FiltersOnly, ModelAdmin):
    """Tags come and stay with the queues that have them; what they mean is for people to say."""

    list_display = ["name", "description", "first_used_at"]
    search_fields = ["name", "description"]
    fields = ["name", "description", "first_used_at"]
    readonly_fields = ["name", "first_used_at"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Tag | None = None) -> bool:
        return False
