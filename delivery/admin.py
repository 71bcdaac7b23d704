"""The admin's pages where messages are concerned.

The journal has a page of its own under its queue, for Django's lists would sort the whole of it. Messages are the
console's (console/screens/messages.py). What is remembered of `dedupe` texts has no page.
"""

from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.template.loader import render_to_string
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.safestring import SafeString

from clients.admin import ClientAdmin
from clients.models import Client
from delivery.browsing import journal_page
from delivery.client_records import subscribed_to
from delivery.models import DutyRun, FreeSequences, PendingNotice
from delivery.services import queue_delete
from delivery.serving.admin import ServiceConfigAdmin, ServiceConfigVersionAdmin, ServiceWithWorkersAdmin, WorkerAdmin
from queues.admin import QueueAdmin
from queues.admin_bases import ReadOnlyAdmin
from queues.models import Queue

# Importing the pages of services registers them.
__all__ = ["ServiceConfigAdmin", "ServiceConfigVersionAdmin", "ServiceWithWorkersAdmin", "WorkerAdmin"]


@admin.register(Queue)
class QueueWithMessagesAdmin(QueueAdmin):
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
            "page": journal_page(queue_id, request.GET.get("after", "")),
        }
        return TemplateResponse(request, "admin/queues/queue/browse.html", context)

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """Without the deletion of many at once: each queue has its own reason why it may not be deleted."""
        actions = super().get_actions(request)
        actions.pop("delete_selected", None)
        return actions

    def delete_model(self, request: HttpRequest, obj: Queue) -> None:
        queue_delete(queue=obj)


@admin.register(Client)
class ClientWithPositionsAdmin(ClientAdmin):
    shown_fields = [*ClientAdmin.shown_fields, "positions"]

    @admin.display(description="acknowledged and outstanding")
    def positions(self, client: Client) -> SafeString:
        return render_to_string("admin/clients/client/positions.html", {"subscribed_to": subscribed_to(client)})


@admin.register(DutyRun)
class DutyRunAdmin(ReadOnlyAdmin):
    list_display = ["duty", "ran_at", "seconds", "handled", "handled_total", "error"]
    ordering = ["duty"]


@admin.register(FreeSequences)
class FreeSequencesAdmin(ReadOnlyAdmin):
    list_display = ["id", "queue_id", "sequences"]
    show_full_result_count = False


@admin.register(PendingNotice)
class PendingNoticeAdmin(ReadOnlyAdmin):
    list_display = ["id", "session_id", "stage", "queue_id", "index", "created_at"]
    show_full_result_count = False
