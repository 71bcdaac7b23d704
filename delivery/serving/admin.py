"""Services in the admin: how they are doing, their workers in the order of the line, and their configuration."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from clients.models import Node
from delivery.serving.changes import (
    check_config,
    service_config_change,
    service_config_delete,
    service_config_restore,
)
from delivery.serving.models import Service, ServiceConfig, ServiceConfigVersion, Worker
from delivery.serving.names import service_of
from delivery.serving.selectors import Figures, service_figures, workers_of
from queues.admin_bases import ReadOnlyAdmin, ReadOnlyInline, ServiceAdmin

WORKER_COLUMNS = ("place", "worker", "node", "free", "last heard of", "configuration")


@admin.register(Service)
class ServiceWithWorkersAdmin(ReadOnlyAdmin):
    """The queues of services, as services."""

    list_display = ("service", "workers", "waiting", "under_way", "answered", "median", "slow")
    fields = ("service", "waiting", "under_way", "answered", "median", "slow", "line")
    readonly_fields = fields
    search_fields = ("name",)
    ordering = ("name",)

    def _figures(self, service: Service) -> Figures:
        return service_figures([service.pk])[service.pk]

    def service(self, service: Service) -> str:
        return service_of(service.name)

    @admin.display(description="workers in line")
    def workers(self, service: Service) -> int:
        return workers_of(service.pk).filter(free__gt=0).count()

    def waiting(self, service: Service) -> int:
        return self._figures(service).waiting

    def under_way(self, service: Service) -> int:
        return self._figures(service).under_way

    @admin.display(description="answered in the last hour")
    def answered(self, service: Service) -> int:
        return self._figures(service).answered

    @admin.display(description="latency, p50")
    def median(self, service: Service) -> str:
        return _milliseconds(self._figures(service).median_seconds)

    @admin.display(description="latency, p99")
    def slow(self, service: Service) -> str:
        return _milliseconds(self._figures(service).slow_seconds)

    @admin.display(description="workers")
    def line(self, service: Service) -> SafeString:
        nodes = dict(Node.objects.values_list("id", "name"))
        rows = [_worker_cells(place, worker, nodes) for place, worker in enumerate(workers_of(service.pk), 1)]
        head = format_html_join("", "<th>{}</th>", ((name,) for name in WORKER_COLUMNS))
        body = format_html_join("", "<tr>{}</tr>", ((format_html_join("", "<td>{}</td>", row),) for row in rows))
        return format_html("<table><tr>{}</tr>{}</table>", head, body)


def _worker_cells(place: int, worker: Worker, nodes: dict[int, str]) -> list[tuple[Any]]:
    heard = (timezone.now() - worker.seen_at).total_seconds()
    return [
        (place if worker.free else "busy",),
        (worker.identity,),
        (nodes.get(worker.node_id, "gone"),),
        (f"{worker.free} of {worker.slots}",),
        (f"{heard:.1f} s ago, every {worker.heartbeat_interval:g} s",),
        (worker.config_version,),
    ]


def _milliseconds(seconds: float | None) -> str:
    return "none" if seconds is None else f"{seconds * 1000:.1f} ms"


@admin.register(Worker)
class WorkerAdmin(ReadOnlyAdmin):
    """All workers in one line; those of a service are on the service's page."""

    list_display = ("identity", "services", "free", "slots", "heartbeat_interval", "seen_at", "config_version")
    ordering = ("waited_since",)


def _operator(request: HttpRequest) -> User | None:
    return request.user if isinstance(request.user, User) else None


class ServiceConfigForm(forms.ModelForm):
    class Meta:
        model = ServiceConfig
        fields = ("name", "heartbeat_interval", "config")

    def clean_config(self) -> Any:
        config = self.cleaned_data["config"]
        check_config(config)
        return config


class VersionsInline(ReadOnlyInline):
    """The history of a configuration."""

    model = ServiceConfigVersion
    fields = ("version", "heartbeat_interval", "config", "restored_from", "changed_by", "changed_at")


@admin.register(ServiceConfig)
class ServiceConfigAdmin(ServiceAdmin):
    form = ServiceConfigForm
    list_display = ("name", "version", "heartbeat_interval")
    search_fields = ("name",)
    inlines = (VersionsInline,)

    def get_readonly_fields(self, request: HttpRequest, obj: ServiceConfig | None = None) -> tuple[str, ...]:
        return ("name",) if obj else ()

    def save_model(self, request: HttpRequest, obj: ServiceConfig, form: Any, change: bool) -> None:
        saved = service_config_change(
            name=obj.name,
            config=obj.config,
            heartbeat_interval=obj.heartbeat_interval,
            user=_operator(request),
        )
        obj.pk, obj.version = saved.pk, saved.version

    def delete_model(self, request: HttpRequest, obj: ServiceConfig) -> None:
        service_config_delete(service=obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[ServiceConfig]) -> None:
        for service in queryset:
            service_config_delete(service=service)


@admin.register(ServiceConfigVersion)
class ServiceConfigVersionAdmin(ReadOnlyAdmin):
    list_display = ("service", "version", "changed_by", "changed_at", "restored_from", "heartbeat_interval")
    list_filter = ("service",)
    actions = ("restore",)

    @admin.action(description="Restore this version", permissions=["view"])
    def restore(self, request: HttpRequest, versions: QuerySet[ServiceConfigVersion]) -> None:
        if not request.user.has_perm("delivery.change_serviceconfig"):
            self.message_user(request, "You may not change configurations.", messages.ERROR)
            return
        try:
            [version] = versions.select_related("service")
            service = service_config_restore(version=version, user=_operator(request))
        except ValueError:
            self.message_user(request, "Choose one version to restore.", messages.ERROR)
        except ValidationError as error:
            self.message_user(request, error.message, messages.ERROR)
        else:
            self.message_user(request, f"{service} is configured as in version {version.version} again.")
