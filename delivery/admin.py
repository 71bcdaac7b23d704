"""The admin's pages where messages are concerned.

The journal has a page of its own under its queue, for Django's lists would sort the whole of it. Messages are the
console's (console/screens/messages.py). What is remembered of `dedupe` texts has no page.
"""

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.template.loader import render_to_string
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.safestring import SafeString

from clients.admin import ClientAdmin
from clients.models import Client
from delivery.figures.clients import subscribed_to
from delivery.inspection.journal import LIST, JournalFilter, journal_page
from delivery.moves.models import PendingNotice
from delivery.operating.audit import staff
from delivery.operating.clients import client_create, client_delete
from delivery.operating.key_admin import KeyAdmin
from delivery.operating.queues import queue_change, queue_create, queue_delete, queue_pause, queue_resume, tag_describe
from delivery.reaper.models import DutyRun
from delivery.serving.admin import ServiceConfigAdmin, ServiceConfigVersionAdmin, ServiceWithWorkersAdmin, WorkerAdmin
from delivery.storage.pages import Cursor, read_cursor, write_cursor
from queues.admin import QueueAdmin, TagAdmin
from queues.admin_bases import ReadOnlyAdmin
from queues.definitions import SETTING_NAMES
from queues.models import Queue, Tag

# Importing these pages registers them.
__all__ = ["KeyAdmin", "ServiceConfigAdmin", "ServiceConfigVersionAdmin", "ServiceWithWorkersAdmin", "WorkerAdmin"]

JOURNAL_PAGE = 100  # rows
JOURNAL_COLUMNS = ("index", "id", "outcome", "reason", "attempt", "client", "node", "posted_at", "assigned_at",
                   "ended_at", "size", "error")  # fmt: skip


@admin.register(Queue)
class QueueWithMessagesAdmin(QueueAdmin):
    actions = ["pause_queues", "resume_queues"]

    def get_urls(self) -> list[URLPattern]:
        pages = [
            path("<int:queue_id>/journal/", self.admin_site.admin_view(self._journal), name="queues_queue_journal"),
        ]
        return [*pages, *super().get_urls()]

    def _journal(self, request: HttpRequest, queue_id: int) -> HttpResponse:
        queue = get_object_or_404(Queue, pk=queue_id)
        if not self.has_view_permission(request, queue):
            raise PermissionDenied
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "queue": queue,
            "title": f"Journal of {queue}",
            **_journal_rows(queue_id, _asked_cursor(request)),
        }
        return TemplateResponse(request, "admin/queues/queue/browse.html", context)

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """Without the deletion of many at once: each queue has its own reason why it may not be deleted."""
        actions = super().get_actions(request)
        actions.pop("delete_selected", None)
        return actions

    def save_model(self, request: HttpRequest, obj: Queue, form: forms.ModelForm, change: bool) -> None:
        """As the console does it, so that it is audited and the nodes hear of it."""
        by = staff(request.user)
        if change:
            queue_change(queue=obj, changes={name: form.cleaned_data[name] for name in form.changed_data}, by=by)
            return
        chosen = {name: form.cleaned_data[name] for name in SETTING_NAMES}
        obj.pk = queue_create(name=obj.name, tags=obj.tags, chosen=chosen, by=by).pk

    def delete_model(self, request: HttpRequest, obj: Queue) -> None:
        queue_delete(queue=obj, by=staff(request.user))

    @admin.action(description="Pause selected queues", permissions=["change"])
    def pause_queues(self, request: HttpRequest, queues: QuerySet[Queue]) -> None:
        self._to_each(request, queues, queue_pause, "Paused.")

    @admin.action(description="Resume selected queues", permissions=["change"])
    def resume_queues(self, request: HttpRequest, queues: QuerySet[Queue]) -> None:
        self._to_each(request, queues, queue_resume, "Resumed.")

    def _to_each(self, request: HttpRequest, queues: QuerySet[Queue], change: Callable[..., None], what: str) -> None:
        for queue in queues:
            change(queue=queue, by=staff(request.user))
            self.log_change(request, queue, what)
        self.message_user(request, f"{what} {', '.join(map(str, queues))}")


def _asked_cursor(request: HttpRequest) -> Cursor | None:
    try:
        return read_cursor(request.GET["after"], of=LIST) if "after" in request.GET else None
    except ValidationError:
        return None  # an address that somebody typed: the journal from its newest row on


def _journal_rows(queue_id: int, after: Cursor | None) -> dict[str, Any]:
    page = journal_page(chosen=JournalFilter(queue_id=queue_id), after=after, limit=JOURNAL_PAGE)
    return {
        "columns": JOURNAL_COLUMNS,
        "rows": [[getattr(row, column) for column in JOURNAL_COLUMNS] for row in page.rows],
        "next": None if page.next is None else write_cursor(page.next, of=LIST),
    }


@admin.register(Tag)
class AuditedTagAdmin(TagAdmin):
    def save_model(self, request: HttpRequest, obj: Tag, form: forms.ModelForm, change: bool) -> None:
        tag_describe(tag=obj, description=obj.description, by=staff(request.user))


@admin.register(Client)
class ClientWithPositionsAdmin(ClientAdmin):
    shown_fields = [*ClientAdmin.shown_fields, "positions"]

    def save_model(self, request: HttpRequest, obj: Client, form: forms.ModelForm, change: bool) -> None:
        obj.pk = client_create(name=obj.name, persistent=obj.persistent, by=staff(request.user)).pk

    def delete_model(self, request: HttpRequest, obj: Client) -> None:
        client_delete(client=obj, by=staff(request.user))

    @admin.display(description="acknowledged and outstanding")
    def positions(self, client: Client) -> SafeString:
        return render_to_string("admin/clients/client/positions.html", {"subscribed_to": subscribed_to(client)})


@admin.register(DutyRun)
class DutyRunAdmin(ReadOnlyAdmin):
    list_display = ["duty", "ran_at", "seconds", "handled", "handled_total", "error"]
    ordering = ["duty"]


@admin.register(PendingNotice)
class PendingNoticeAdmin(ReadOnlyAdmin):
    list_display = ["id", "session_id", "stage", "queue_id", "index", "created_at"]
    show_full_result_count = False
