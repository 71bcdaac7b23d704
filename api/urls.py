"""Every address under /api/, each with and without a slash at its end."""

from typing import Any

from django.http import Http404, HttpResponseBase
from django.shortcuts import redirect
from django.urls import URLPattern, path, re_path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from rest_framework.request import Request
from rest_framework.views import APIView

from api import (
    audit,
    claims,
    clients,
    dead_letters,
    facts,
    journal,
    key_making,
    keys,
    messages,
    named_queues,
    nodes,
    one_message,
    queues,
    schedules,
    service_configs,
    services,
    sessions,
)
from api.schema import KeyScheme
from api.status import ClientRecordApi
from api.views import NUMBERS_IN_ADDRESSES, ApiView

__all__ = ["KeyScheme", "urlpatterns"]  # importing it tells drf-spectacular of keys

NUMBER = "[0-9]{1,18}"  # digits: enough for any number that is given out, and fewer than a bigint holds


def address(text: str, view: type[Any], **options: Any) -> URLPattern:
    """`{name}` stands for a number."""
    pattern = text
    for name in NUMBERS_IN_ADDRESSES:
        pattern = pattern.replace(f"{{{name}}}", f"(?P<{name}>{NUMBER})")
    return re_path(f"^{pattern}/?$", view.as_view(**options))


class BeginningApi(APIView):
    """Whoever tries /api/ finds the page that describes the rest."""

    schema = None  # not part of the document

    def get(self, request: Request) -> HttpResponseBase:
        return redirect("api-docs")


def named(text: str, view: type[Any]) -> list[URLPattern]:
    """For addresses with a name, which may have slashes in it."""
    return [path(f"{text}/", view.as_view()), path(text, view.as_view(schema=None))]


class NothingHereApi(ApiView):
    """So that a wrong address is refused as everything else is."""

    schema = None  # not part of the document

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        raise Http404


urlpatterns = [
    path("", BeginningApi.as_view()),
    address("queues", queues.QueuesApi),
    address("queues/explain-tags", queues.ExplainTagsApi),
    address("queues/{shard}", queues.QueueApi),
    address("queues/{shard}/pause", queues.PauseApi),
    address("queues/{shard}/resume", queues.ResumeApi),
    address("queues/{shard}/purge", queues.PurgeApi),
    address("queues/{shard}/why", queues.QueueWhyApi),
    address("queue", named_queues.QueueByName),
    address("queue/pause", named_queues.PauseByName),
    address("queue/resume", named_queues.ResumeByName),
    address("queue/purge", named_queues.PurgeByName),
    address("queue/why", named_queues.WhyByName),
    address("messages", messages.MessagesApi),
    address("messages/fetch", claims.FetchApi),
    address("messages/finish", claims.FinishApi),
    address("messages/fail", claims.FailApi),
    address("messages/keepalive", claims.KeepaliveApi),
    address("messages/release", claims.ReleaseApi),
    address("messages/pop", messages.PopApi),
    address("messages/retry", messages.RetryApi),
    address("messages/drop", messages.DropApi),
    address("messages/move", messages.MoveApi),
    address("messages/priority", messages.PriorityApi),
    address("messages/{shard}/{index}", one_message.MessageApi),
    address("messages/{shard}/{index}/why", one_message.MessageWhyApi),
    address("messages/{shard}/{index}/timeline", one_message.TimelineApi),
    address("dead-letters", dead_letters.DeadLettersApi),
    address("dead-letters/groups", dead_letters.GroupsApi),
    address("dead-letters/export", dead_letters.ExportApi),
    address("dead-letters/purge", dead_letters.PurgeDeadLettersApi),
    address("dead-letters/redrives", dead_letters.RedrivesApi),
    address("dead-letters/redrives/dry-run", dead_letters.DryRunApi),
    address("dead-letters/redrives/{number}", dead_letters.RedriveApi),
    address("dead-letters/redrives/{number}/cancel", dead_letters.CancelRedriveApi),
    address("dead-letters/redrives/{number}/undo", dead_letters.UndoRedriveApi),
    address("clients", clients.ClientsApi),
    *named("clients/<path:client_name>", ClientRecordApi),
    address("sessions", sessions.SessionsApi),
    address("sessions/{number}", sessions.SessionApi),
    address("sessions/{number}/disconnect", sessions.DisconnectApi),
    address("sessions/{number}/fail-messages", sessions.FailMessagesApi),
    address("services", services.ServicesApi),
    *named("services/<path:name>", services.ServiceApi),
    address("schedules", schedules.SchedulesApi),
    *named("schedules/<path:name>/run", schedules.RunScheduleApi),
    *named("schedules/<path:name>/next", schedules.NextTimesApi),
    *named("schedules/<path:name>", schedules.ScheduleApi),
    address("service-configs", service_configs.ServiceConfigsApi),
    path("service-configs/<path:name>/", service_configs.ServiceConfigApi.as_view()),
    path("service-configs/<path:name>", service_configs.ServiceConfigApi.as_view(schema=None)),
    address("keys", key_making.KeysApi),
    address("keys/{number}", keys.KeyApi),
    address("keys/{number}/rotate", key_making.RotateKeyApi),
    address("keys/{number}/expire", key_making.ExpireKeyApi),
    address("keys/{number}/revoke", key_making.RevokeKeyApi),
    address("nodes", nodes.NodesApi),
    address("journal", journal.JournalApi),
    address("audit", audit.AuditApi),
    address("facts", facts.FactKindsApi),
    address("facts/queues", facts.QueueFactsApi),
    address("facts/clients", facts.ClientFactsApi),
    address("facts/nodes", facts.NodeFactsApi),
    address("facts/services", facts.ServiceFactsApi),
    address("facts/dead-letter-clusters", facts.ClustersApi),
    address("facts/findings", facts.FindingsApi),
    address("facts/runs", facts.RunsApi),
    re_path("^schema/?$", SpectacularAPIView.as_view(), name="api-schema"),
    re_path("^docs/?$", SpectacularSwaggerSplitView.as_view(url_name="api-schema"), name="api-docs"),
    re_path("", NothingHereApi.as_view()),
]
