"""/api/service-configs: what operators tell the workers of a service."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.access import operator_of, require_operator
from api.fields import Paging, Seconds, Strict, page_of
from api.pages import page_of_rows
from api.views import ApiView, found
from delivery.models import ServiceConfig
from delivery.operating.permissions import May
from delivery.serving.changes import (
    LONGEST_HEARTBEAT_INTERVAL,
    SHORTEST_HEARTBEAT_INTERVAL,
    service_config_change,
    service_config_delete,
)
from delivery.serving.models import DEFAULT_HEARTBEAT_INTERVAL

MOST_VERSIONS = 50  # that are listed


class ServiceConfigSerializer(serializers.Serializer):
    name = serializers.CharField(help_text="The service.")
    version = serializers.IntegerField()
    heartbeat_interval = serializers.FloatField(help_text="Seconds between two heartbeats of a worker.")
    config = serializers.DictField(help_text="A JSON object. Workers get it as JSON, XML or ZFL.")


class VersionSerializer(serializers.Serializer):
    version = serializers.IntegerField()
    heartbeat_interval = serializers.FloatField()
    config = serializers.DictField()
    restored_from = serializers.IntegerField(allow_null=True)
    changed_at = serializers.DateTimeField()


class ServiceConfigDetailSerializer(ServiceConfigSerializer):
    versions = VersionSerializer(many=True, help_text="The newest first.")


class PutServiceConfigSerializer(Strict):
    config = serializers.DictField(help_text="A JSON object.")
    heartbeat_interval = Seconds(
        default=DEFAULT_HEARTBEAT_INTERVAL,
        min_value=SHORTEST_HEARTBEAT_INTERVAL,
        max_value=LONGEST_HEARTBEAT_INTERVAL,
    )


def shown_config(config: ServiceConfig) -> dict[str, Any]:
    return {name: getattr(config, name) for name in ("name", "version", "heartbeat_interval", "config")}


def shown_with_versions(config: ServiceConfig) -> dict[str, Any]:
    names = ("version", "heartbeat_interval", "config", "restored_from", "changed_at")
    return {**shown_config(config), "versions": list(config.versions.values(*names)[:MOST_VERSIONS])}


def _config(name: str) -> ServiceConfig:
    config = ServiceConfig.objects.filter(name=name).first() if name.isprintable() else None
    return found(config, name, f"There is no configuration of the service {name}.")


class ServiceConfigsApi(ApiView):
    @extend_schema(parameters=[Paging], responses=page_of(ServiceConfigSerializer), operation_id="list_service_configs")
    def get(self, request: Request) -> Response:
        """Configurations of services, by name. For operators."""
        require_operator(request)
        page = page_of_rows(ServiceConfig.objects.all(), ("name",), self.asked(Paging), shown=shown_config)
        return Response(page)


class ServiceConfigApi(ApiView):
    staff_needs = {"PUT": (May.CHANGE_SERVICES,), "DELETE": (May.CHANGE_SERVICES,)}

    @extend_schema(responses=ServiceConfigDetailSerializer, operation_id="show_service_config")
    def get(self, request: Request, name: str) -> Response:
        """One service's configuration, with its history."""
        require_operator(request)
        return Response(shown_with_versions(_config(name)))

    @extend_schema(
        request=PutServiceConfigSerializer, responses=ServiceConfigDetailSerializer, operation_id="put_service_config"
    )
    def put(self, request: Request, name: str) -> Response:
        """Configure a service, as a new version. Its workers are told at once."""
        require_operator(request)
        sent = self.sent(PutServiceConfigSerializer)
        config = service_config_change(name=name, **sent, by=operator_of(request))
        return Response(shown_with_versions(config))

    @extend_schema(responses={204: None}, operation_id="delete_service_config")
    def delete(self, request: Request, name: str) -> Response:
        """Delete a configuration with its history. Its workers are told that nothing is configured."""
        require_operator(request)
        service_config_delete(service=_config(name), by=operator_of(request))
        return Response(status=204)
