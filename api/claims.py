"""/api/messages/fetch and what follows it: reliable work over HTTP, for scripts and synchronous programs."""

from collections.abc import Callable
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.access import audited_for_staff, require
from api.fields import BodyField, Name, Seconds, Strict, Tags
from api.messages import LONGEST_WAIT, MOST_POPPED, PoppedSerializer, shown_popped
from api.views import ApiView, queue_numbered
from api.waiting import answer_taking, seconds_to_wait
from clients.models import Permission
from clients.rest import principal_of
from delivery.engine.demands import NO_SESSION
from delivery.gateway import http_claims
from delivery.inspection.tag_explainer import MATCHES
from delivery.moves.endings import Answer, Ending, FailRequest, FinishRequest, KeepaliveRequest, ReleaseRequest
from delivery.moves.states import Reason
from delivery.operating.permissions import May
from delivery.protocol.commands import Fetch

RECEIPT = r"^[0-9]{1,18}/[0-9]{1,18}/[0-9]{1,18}/[0-9]{1,9}$"
LONGEST_ERROR = 10_000  # characters
SHORTEST_LEASE = 1.0  # second: a script needs some time to send its next request


class FetchSerializer(Strict):
    """A fetch, as in the protocol."""

    queue = Name()
    tags = Tags(default=list)
    match = serializers.ChoiceField(choices=MATCHES, required=False)
    timeout = Seconds(default=0.0, max_value=LONGEST_WAIT, help_text="Seconds to wait on an empty queue.")
    count = serializers.IntegerField(min_value=1, max_value=MOST_POPPED, default=1)
    work_timeout = Seconds(
        required=False,
        min_value=SHORTEST_LEASE,
        help_text="Seconds until the claim fails without a keepalive; without it, as the queue says.",
    )


class ClaimedSerializer(PoppedSerializer):
    receipt = serializers.CharField(help_text="Names this claim: shard/sequence/index/attempt.")
    work_timeout = serializers.FloatField(help_text="Seconds that the claim lasts without a keepalive.")


class ClaimedMessagesSerializer(serializers.Serializer):
    messages = ClaimedSerializer(many=True)


class ReceiptSerializer(Strict):
    receipt = serializers.RegexField(
        RECEIPT,
        help_text="As the fetch gave it.",
        error_messages={"invalid": "This must be a receipt as a fetch gave it, such as 12/345/345/1."},
    )


class FinishSerializer(ReceiptSerializer):
    reply = BodyField(required=False, help_text="Goes to the poster, if it asked for the notice `finish`.")
    sync = serializers.BooleanField(default=False, help_text="Answer only when it is flushed to disk.")


class FailSerializer(ReceiptSerializer):
    error = serializers.CharField(required=False, max_length=LONGEST_ERROR, help_text="Why, for people.")
    delay = Seconds(required=False, help_text="Seconds until the next attempt; without it, as the queue says.")
    final = serializers.BooleanField(default=False, help_text="No further attempt: to the dead letters now.")


class SettledSerializer(serializers.Serializer):
    receipt = serializers.CharField()


def shown_claim(row: Any, queue: Any, name: str) -> dict[str, Any]:
    return {
        **shown_popped(row, queue, name),
        "receipt": f"{row.queue_id}/{row.sequence}/{row.index}/{row.attempts}",
        "work_timeout": row.work_timeout,
    }


class FetchApi(ApiView):
    staff_needs = {"POST": (May.CHANGE_MESSAGES, May.SEE_BODIES)}

    @extend_schema(request=FetchSerializer, responses=ClaimedMessagesSerializer, operation_id="fetch_messages")
    def post(self, request: Request) -> Response:
        """Claim messages. Needs `fetch` on the queue.

        Each message is yours until its `work_timeout` is over. Then the attempt has failed, and somebody else gets the
        message. Before that, send its `receipt` to finish, fail, keepalive or release.
        """
        sent = self.sent(FetchSerializer)
        require(request, Permission.FETCH, [sent["queue"]])
        tags, seconds = tuple(sent.pop("tags")), seconds_to_wait(request, sent.pop("timeout"))
        command = Fetch(**sent, tags=tags, block_timeout=seconds)
        take = http_claims.fetch(command, by=principal_of(request))

        def show(claimed: list[Any]) -> dict[str, Any]:
            return {"messages": [shown_claim(row, queue, sent["queue"]) for row, queue in claimed]}

        return answer_taking(request, "fetch messages", sent["queue"], take, show, wait_seconds=seconds)


class SettlingApi(ApiView):
    """What the holder of a receipt says about its claim."""

    staff_needs = {"POST": (May.CHANGE_MESSAGES,)}

    def claim(self, sent: dict[str, Any]) -> dict[str, Any]:
        """The claim that a receipt names, after checking that the caller may fetch from its queue."""
        shard, sequence, index, attempt = map(int, sent["receipt"].split("/"))
        require(self.request, Permission.FETCH, [queue_numbered(shard).name])
        return {"queue_id": shard, "sequence": sequence, "index": index, "attempt": attempt, "holder": NO_SESSION}

    @property
    def client(self) -> str | None:
        return principal_of(self.request).client_name

    def settle(self, action: str, receipt: str, ending: Callable[[Answer], Ending]) -> Response:
        with audited_for_staff(self.request, action, receipt) as tally:
            http_claims.settle(ending)
            tally.done = 1
        return Response({"receipt": receipt})


class FinishApi(SettlingApi):
    @extend_schema(request=FinishSerializer, responses=SettledSerializer, operation_id="finish_message")
    def post(self, request: Request) -> Response:
        """The work on a fetched message is done. The message is gone when the answer comes."""
        sent = self.sent(FinishSerializer)
        claim, reply = self.claim(sent), sent.get("reply")
        content = reply.encode() if isinstance(reply, str) else reply
        return self.settle(
            "finish message",
            sent["receipt"],
            lambda answer: FinishRequest(
                **claim, answer=answer, client=self.client, reply=content, synchronous=sent["sync"]
            ),
        )


class FailApi(SettlingApi):
    @extend_schema(request=FailSerializer, responses=SettledSerializer, operation_id="fail_message")
    def post(self, request: Request) -> Response:
        """The work on a fetched message failed. It is tried again, or goes to the dead letters."""
        sent = self.sent(FailSerializer)
        claim = self.claim(sent)
        return self.settle(
            "fail message",
            sent["receipt"],
            lambda answer: FailRequest(
                **claim,
                answer=answer,
                client=self.client,
                reason=Reason.FAILED.value,
                error=sent.get("error"),
                delay=sent.get("delay"),
                final=sent["final"],
            ),
        )


class KeepaliveApi(SettlingApi):
    @extend_schema(request=ReceiptSerializer, responses=SettledSerializer, operation_id="keep_message")
    def post(self, request: Request) -> Response:
        """The work on a fetched message goes on. The time of its claim starts again."""
        sent = self.sent(ReceiptSerializer)
        claim = self.claim(sent)
        return self.settle(
            "keep message alive", sent["receipt"], lambda answer: KeepaliveRequest(**claim, answer=answer)
        )


class ReleaseApi(SettlingApi):
    @extend_schema(request=ReceiptSerializer, responses=SettledSerializer, operation_id="release_message")
    def post(self, request: Request) -> Response:
        """Give a fetched message back without having begun. The attempt doesn't count."""
        sent = self.sent(ReceiptSerializer)
        claim = self.claim(sent)
        return self.settle("release message", sent["receipt"], lambda answer: ReleaseRequest(**claim, answer=answer))
