"""The admin's pages of queues and tags, as far as they need no look at messages: delivery/admin.py adds those."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.admin import ModelAdmin

from queues.admin_bases import ServiceAdmin
from queues.definitions import SETTING_NAMES, default_settings
from queues.forms import QueueCreationForm, QueueSettingsForm
from queues.models import Queue, Tag
from queues.services import CHANGEABLE_SETTINGS, queue_create, queue_pause, queue_resume, queue_update


class QueueAdmin(ServiceAdmin):
    list_display = ["name", "listed_tags", "kind", "paused", "retry_limit", "heartbeat_timeout", "max_length"]
    list_filter = ["kind", "paused"]
    search_fields = ["name"]
    ordering = ["name", "id"]
    show_full_result_count = False
    actions = ["pause_queues", "resume_queues"]

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

    def save_model(self, request: HttpRequest, obj: Queue, form: forms.ModelForm, change: bool) -> None:
        if change:
            queue_update(queue=obj, changes={name: form.cleaned_data[name] for name in form.changed_data})
            return
        chosen = {name: form.cleaned_data[name] for name in SETTING_NAMES}
        obj.pk = queue_create(name=obj.name, tags=obj.tags, chosen=chosen).pk

    @admin.action(description="Pause selected queues", permissions=["change"])
    def pause_queues(self, request: HttpRequest, queues: QuerySet[Queue]) -> None:
        self._to_each(request, queues, queue_pause, "Paused.")

    @admin.action(description="Resume selected queues", permissions=["change"])
    def resume_queues(self, request: HttpRequest, queues: QuerySet[Queue]) -> None:
        self._to_each(request, queues, queue_resume, "Resumed.")

    def _to_each(self, request: HttpRequest, queues: QuerySet[Queue], change: Callable[..., None], what: str) -> None:
        for queue in queues:
            change(queue=queue)
            self.log_change(request, queue, what)
        self.message_user(request, f"{what} {', '.join(map(str, queues))}")


@admin.register(Tag)
class TagAdmin(ModelAdmin):
    """Tags come and stay with the queues that have them; what they mean is for people to say."""

    list_display = ["name", "description", "first_used_at"]
    search_fields = ["name", "description"]
    fields = ["name", "description", "first_used_at"]
    readonly_fields = ["name", "first_used_at"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Tag | None = None) -> bool:
        return False
