"""/api/facts: what the data pipeline computed from the journal."""

from typing import Any, ClassVar

from django.db.models import Model, QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.access import require_any, require_operator
from api.fields import BigInteger, Name, Paging, page_of
from api.pages import page_of_rows
from api.views import ApiView, queue_numbered
from delivery.facts.models import (
    ClientFact,
    DeadLetterCluster,
    Grain,
    HealthFinding,
    NodeFact,
    PipelineRun,
    QueueFact,
    ServiceFact,
    Severity,
)


class FactArguments(Paging):
    grain = serializers.ChoiceField(choices=Grain.values, default=Grain.HOUR.value)
    since = serializers.DateTimeField(required=False, help_text="Buckets that begin at this time or later.")
    until = serializers.DateTimeField(required=False, help_text="Buckets that begin before this time.")


class QueueFactArguments(FactArguments):
    shard = BigInteger(required=False)
    queue = Name(required=False)


class ClientFactArguments(FactArguments):
    client = serializers.CharField(required=False, max_length=200, allow_blank=True)


class NodeFactArguments(FactArguments):
    node = Name(required=False)


class ServiceFactArguments(FactArguments):
    service = Name(required=False)


class ClusterArguments(Paging):
    shard = BigInteger(required=False)
    queue = Name(required=False)


class FindingArguments(Paging):
    severity = serializers.ChoiceField(choices=Severity.values, required=False)


def shape_of(model: type[Model], **fields: serializers.Field) -> type[serializers.ModelSerializer]:
    """All columns of a table of facts except the row's number."""
    meta = type("Meta", (), {"model": model, "exclude": ["id"]})
    return type(f"{model.__name__}Serializer", (serializers.ModelSerializer,), {"Meta": meta, **fields})


QueueFactSerializer = shape_of(QueueFact, dead_by_reason=serializers.DictField(child=serializers.IntegerField()))
ClientFactSerializer = shape_of(ClientFact)
NodeFactSerializer = shape_of(NodeFact)
ServiceFactSerializer = shape_of(ServiceFact)
ClusterSerializer = shape_of(DeadLetterCluster)
FindingSerializer = shape_of(HealthFinding)
RunSerializer = shape_of(PipelineRun)


KINDS = ("queues", "clients", "nodes", "services", "dead-letter-clusters", "findings", "runs")


class FactKindsSerializer(serializers.Serializer):
    results = serializers.ListField(child=serializers.CharField(), help_text="Addresses of the kinds of facts.")


class FactKindsApi(ApiView):
    @extend_schema(responses=FactKindsSerializer, operation_id="list_fact_kinds")
    def get(self, request: Request) -> Response:
        """Which facts there are."""
        return Response({"results": [f"/api/facts/{kind}/" for kind in KINDS]})


class FactsApi(ApiView):
    """Newest first. For operators; facts of one queue also for callers with a grant on it."""

    model: ClassVar[type[Model]]
    serializer: ClassVar[type[serializers.ModelSerializer]]
    keys: ClassVar[tuple[str, ...]] = ("-bucket", "-id")
    equal: ClassVar[dict[str, str]] = {}  # arguments, and the columns that must be equal to them

    def page(self, request: Request, arguments: type[serializers.Serializer]) -> Response:
        asked = self.asked(arguments)
        self.check(request, asked)
        columns = {"grain": "grain", "since": "bucket__gte", "until": "bucket__lt"} | self.equal
        conditions = {column: asked[name] for name, column in columns.items() if name in asked}
        rows: QuerySet[Any] = self.model._default_manager.filter(**conditions)

        def shown(row: Any) -> dict[str, Any]:
            values: dict[str, Any] = self.serializer(row).data
            return values

        return Response(page_of_rows(rows, self.keys, asked, shown=shown))

    def check(self, request: Request, asked: dict[str, Any]) -> None:
        if "shard" in asked:
            require_any(request, queue_numbered(asked["shard"]).name)
        elif "queue" in asked:
            require_any(request, asked["queue"])
        else:
            require_operator(request)


class QueueFactsApi(FactsApi):
    model, serializer = QueueFact, QueueFactSerializer
    equal = {"shard": "queue_id", "queue": "queue_name"}

    @extend_schema(parameters=[QueueFactArguments], responses=page_of(QueueFactSerializer), operation_id="queue_facts")
    def get(self, request: Request) -> Response:
        """What happened in queues, per minute, hour or day."""
        return self.page(request, QueueFactArguments)


class ClientFactsApi(FactsApi):
    model, serializer = ClientFact, ClientFactSerializer
    equal = {"client": "client"}

    @extend_schema(
        parameters=[ClientFactArguments], responses=page_of(ClientFactSerializer), operation_id="client_facts"
    )
    def get(self, request: Request) -> Response:
        """What clients did, per minute, hour or day. For operators."""
        return self.page(request, ClientFactArguments)


class NodeFactsApi(FactsApi):
    model, serializer = NodeFact, NodeFactSerializer
    equal = {"node": "node"}

    @extend_schema(parameters=[NodeFactArguments], responses=page_of(NodeFactSerializer), operation_id="node_facts")
    def get(self, request: Request) -> Response:
        """What ended on each node, per minute, hour or day. For operators."""
        return self.page(request, NodeFactArguments)


class ServiceFactsApi(FactsApi):
    model, serializer = ServiceFact, ServiceFactSerializer
    equal = {"service": "service"}

    @extend_schema(
        parameters=[ServiceFactArguments], responses=page_of(ServiceFactSerializer), operation_id="service_facts"
    )
    def get(self, request: Request) -> Response:
        """Requests and their latencies, per minute, hour or day. For operators."""
        return self.page(request, ServiceFactArguments)


class ClustersApi(FactsApi):
    model, serializer = DeadLetterCluster, ClusterSerializer
    keys = ("-day", "-id")
    equal = {"shard": "queue_id", "queue": "queue_name"}

    @extend_schema(
        parameters=[ClusterArguments], responses=page_of(ClusterSerializer), operation_id="dead_letter_clusters"
    )
    def get(self, request: Request) -> Response:
        """Dead messages by what their errors have in common, per day."""
        return self.page(request, ClusterArguments)


class FindingsApi(FactsApi):
    model, serializer = HealthFinding, FindingSerializer
    keys = ("-at", "-id")
    equal = {"severity": "severity"}

    @extend_schema(parameters=[FindingArguments], responses=page_of(FindingSerializer), operation_id="findings")
    def get(self, request: Request) -> Response:
        """What the last run of the pipeline found unusual. For operators."""
        return self.page(request, FindingArguments)


class RunsApi(FactsApi):
    model, serializer = PipelineRun, RunSerializer
    keys = ("-id",)

    @extend_schema(parameters=[Paging], responses=page_of(RunSerializer), operation_id="pipeline_runs")
    def get(self, request: Request) -> Response:
        """Runs of the pipeline. For operators."""
        return self.page(request, Paging)
