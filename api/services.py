"""/api/services: what can be requested, who serves it, and how quickly."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.access import may_see, require_any
from api.fields import Paging, page_of
from api.pages import page_of_rows
from api.views import ApiView, found
from delivery.models import Service, ServiceConfig
from delivery.moves.service_names import service_of
from delivery.serving.selectors import service_figures, workers_of
from queues.definitions import SERVICE_PREFIX


class ServiceSerializer(serializers.Serializer):
    name = serializers.CharField()
    shard = serializers.IntegerField(help_text="The queue in which its requests wait.")
    workers = serializers.IntegerField()
    waiting = serializers.IntegerField()
    under_way = serializers.IntegerField()
    answered = serializers.IntegerField(help_text="In the last hour.")
    median_seconds = serializers.FloatField(allow_null=True, help_text="From request to reply, in the last hour.")
    slow_seconds = serializers.FloatField(allow_null=True, help_text="The 99th percentile of the same.")
    config_version = serializers.IntegerField(allow_null=True)


class WorkerSerializer(serializers.Serializer):
    identity = serializers.CharField()
    session = serializers.IntegerField()
    slots = serializers.IntegerField()
    free = serializers.IntegerField()
    seen_at = serializers.DateTimeField()


class ServiceDetailSerializer(ServiceSerializer):
    line = WorkerSerializer(many=True, help_text="Its workers; the one that gets the next request comes first.")


def shown_service(service: Service) -> dict[str, Any]:
    name = service_of(service.name)
    figures = service_figures([service.pk])[service.pk]
    config = ServiceConfig.objects.filter(name=name).first()
    names = ("waiting", "under_way", "answered", "median_seconds", "slow_seconds")
    return {
        "name": name,
        "shard": service.pk,
        "workers": workers_of(service.pk).count(),
        "config_version": config.version if config else None,
        **{figure: getattr(figures, figure) for figure in names},
    }


class ServicesApi(ApiView):
    @extend_schema(parameters=[Paging], responses=page_of(ServiceSerializer), operation_id="list_services")
    def get(self, request: Request) -> Response:
        """The services on which the caller has any grant, by name."""
        page = page_of_rows(
            Service.objects.all(),
            ("name", "id"),
            self.asked(Paging),
            shown=shown_service,
            keep=lambda service: may_see(request, service_of(service.name)),
        )
        return Response(page)


class ServiceApi(ApiView):
    @extend_schema(responses=ServiceDetailSerializer, operation_id="show_service")
    def get(self, request: Request, name: str) -> Response:
        """One service, with its workers."""
        require_any(request, name)
        service = Service.objects.filter(name=SERVICE_PREFIX + name).first() if name.isprintable() else None
        service = found(service, name, f"There is no service {name}.")
        line = [
            {
                "identity": worker.identity,
                "session": worker.session_id,
                "slots": worker.slots,
                "free": worker.free,
                "seen_at": worker.seen_at,
            }
            for worker in workers_of(service.pk)
        ]
        return Response({**shown_service(service), "line": line})
