"""Services in the admin: how they are doing, their workers in the order of the line, and their configuration."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from clients.models import Node
from delivery.moves.service_names import service_of
from delivery.operating.audit import staff
from delivery.operating.permissions import May, allowed, refusal
from delivery.serving.changes import (
    check_config,
    check_heartbeat_interval,
    service_config_change,
    service_config_delete,
    service_config_restore,
)
from delivery.serving.config_form import ConfigField
from delivery.serving.models import Service, ServiceConfig, ServiceConfigVersion, Worker
from delivery.serving.reports import ServiceReport, service_reports
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

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        """Every figure of the page is read at once, and kept with the row that shows it."""
        changelist = super().get_changelist_instance(request)
        reports = {report.queue.pk: report for report in service_reports(changelist.result_list)}
        for service in changelist.result_list:
            _keep_report(service, reports[service.pk])
        return changelist

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Service | None:
        service = super().get_object(request, object_id, from_field)
        if service is not None:
            _keep_report(service, service_reports([service])[0])
        return service

    def service(self, service: Service) -> str:
        return service_of(service.name)

    @admin.display(description="workers in line")
    def workers(self, service: Service) -> int:
        return _report_of(service).in_line

    def waiting(self, service: Service) -> int:
        return _report_of(service).figures.waiting

    def under_way(self, service: Service) -> int:
        return _report_of(service).figures.under_way

    @admin.display(description="answered in the last hour")
    def answered(self, service: Service) -> int:
        return _report_of(service).figures.answered

    @admin.display(description="latency, p50")
    def median(self, service: Service) -> str:
        return _milliseconds(_report_of(service).figures.median_seconds)

    @admin.display(description="latency, p99")
    def slow(self, service: Service) -> str:
        return _milliseconds(_report_of(service).figures.slow_seconds)

    @admin.display(description="workers")
    def line(self, service: Service) -> SafeString:
        nodes = dict(Node.objects.values_list("id", "name"))
        rows = [_worker_cells(place, worker, nodes) for place, worker in enumerate(_report_of(service).workers, 1)]
        head = format_html_join("", "<th>{}</th>", ((name,) for name in WORKER_COLUMNS))
        body = format_html_join("", "<tr>{}</tr>", ((format_html_join("", "<td>{}</td>", row),) for row in rows))
        return format_html("<table><tr>{}</tr>{}</table>", head, body)


def _keep_report(service: Service, report: ServiceReport) -> None:
    service.report = report  # type: ignore[attr-defined]


def _report_of(service: Service) -> ServiceReport:
    return service.report  # type: ignore[attr-defined]


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


class ServiceConfigForm(forms.ModelForm):
    class Meta:
        model = ServiceConfig
        fields = ("name", "heartbeat_interval", "config")
        field_classes = {"config": ConfigField}

    def clean_heartbeat_interval(self) -> float:
        seconds: float = self.cleaned_data["heartbeat_interval"]
        check_heartbeat_interval(seconds)
        return seconds

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
    list_display = ("name", "version", "heartbeat_interval", "history")
    search_fields = ("name",)
    inlines = (VersionsInline,)

    def get_readonly_fields(self, request: HttpRequest, obj: ServiceConfig | None = None) -> tuple[str, ...]:
        return ("name", "history") if obj else ()

    @admin.display(description="old versions")
    def history(self, service: ServiceConfig) -> SafeString:
        versions = reverse("admin:delivery_serviceconfigversion_changelist")
        return format_html('<a href="{}?service__id__exact={}">look at them, restore one</a>', versions, service.pk)

    def save_model(self, request: HttpRequest, obj: ServiceConfig, form: Any, change: bool) -> None:
        saved = service_config_change(
            name=obj.name,
            config=obj.config,
            heartbeat_interval=obj.heartbeat_interval,
            by=staff(request.user),
        )
        obj.pk, obj.version = saved.pk, saved.version

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """The history goes with the configuration, though nobody may delete a version by itself."""
        objects, counts, lacking, protected = super().get_deleted_objects(objs, request)
        return objects, counts, set(lacking) - {ServiceConfigVersion._meta.verbose_name}, protected

    def delete_model(self, request: HttpRequest, obj: ServiceConfig) -> None:
        service_config_delete(service=obj, by=staff(request.user))

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[ServiceConfig]) -> None:
        for service in queryset:
            service_config_delete(service=service, by=staff(request.user))


@admin.register(ServiceConfigVersion)
class ServiceConfigVersionAdmin(ReadOnlyAdmin):
    list_display = ("service", "version", "changed_by", "changed_at", "restored_from", "heartbeat_interval")
    list_filter = ("service",)
    actions = ("restore",)

    @admin.action(description="Restore this version", permissions=["view"])
    def restore(self, request: HttpRequest, versions: QuerySet[ServiceConfigVersion]) -> None:
        if not allowed(request.user, May.CHANGE_SERVICES):
            self.message_user(request, refusal(May.CHANGE_SERVICES), messages.ERROR)
            return
        try:
            [version] = versions.select_related("service")
            service = service_config_restore(version=version, by=staff(request.user))
        except ValueError:
            self.message_user(request, "Choose one version to restore.", messages.ERROR)
        except ValidationError as error:
            self.message_user(request, error.message, messages.ERROR)
        else:
            self.message_user(request, f"{service} is configured as in version {version.version} again.")
