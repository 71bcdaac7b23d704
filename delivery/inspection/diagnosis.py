"""Why messages do not move: the exact reasons, each with a code and a sentence."""

from typing import Any

from django.conf import settings
from django.utils import timezone
from psycopg import AsyncConnection

from clients.models import Session
from delivery.inspection.causes import OVER_HTTP, Cause, holder_text, time_text
from delivery.inspection.limit_causes import why_behind, why_limited
from delivery.inspection.message import live_message
from delivery.moves.message_id import MessageId
from delivery.moves.models import Journal, Message
from delivery.moves.service_names import is_service_queue
from delivery.moves.states import State
from delivery.storage.connection import fetch_rows
from delivery.storage.on_django import operate
from delivery.storage.statements import statement
from queues.models import Kind, Queue

MOST_AHEAD = 10_000  # messages that are counted ahead of one
MOST_CLAIMS = 10_000  # of a queue that are looked at
MOST_SUBSCRIBERS = 100
DIAGNOSIS_SECONDS = 5.0  # for each statement


def why_queue(queue: Queue) -> list[Cause]:
    """What keeps a queue's messages from moving, the most important cause first; or that nothing does."""
    return operate(lambda connection: _why_queue(connection, queue.pk), seconds=DIAGNOSIS_SECONDS)


def why_message(message_id: MessageId) -> list[Cause]:
    message = live_message(message_id)
    if message is None:
        return [_gone(message_id)]
    return operate(lambda connection: _why_message(connection, message), seconds=DIAGNOSIS_SECONDS)


def _gone(message_id: MessageId) -> Cause:
    if message_id.index is None:
        return Cause("gone", "There is no message with this ID now.")
    last = Journal.objects.filter(queue_id=message_id.queue_id, index=message_id.index).order_by("-id").first()
    if last is None:
        return Cause("gone", "There is no such message, also not in the journal.")
    because = f", {last.reason}" if last.reason else ""
    sentence = f"The message has ended: {last.outcome}{because}, {time_text(last.ended_at)}."
    return Cause("ended", sentence, facts={"outcome": last.outcome, "reason": last.reason, "ended_at": last.ended_at})


async def _why_message(connection: AsyncConnection[Any], message: Message) -> list[Cause]:
    if message.state == State.CLAIMED:
        return [await _claimed(connection, message)]
    if message.state == State.RETAINED:
        return [Cause("retained", "It is in a stream: it stays until retention removes it.", False)]
    causes = []
    if message.expires_at is not None and message.expires_at <= timezone.now():
        causes.append(
            Cause(
                "expired",
                f"Its time to live ended {time_text(message.expires_at)}; the reaper will move it to the dead letters.",
            )
        )
    if message.state == State.DELAYED:
        until = message.available_at
        causes.append(Cause("delayed", f"It is delayed until {time_text(until)}.", facts={"until": until}))
        return causes
    if message.state == State.BEHIND:
        most = Queue.objects.filter(pk=message.queue_id).values_list("group_in_flight", flat=True).first()
        group_cause = await why_behind(connection, message.queue_id, message.group_key or "", most)
        if group_cause.blocks:
            return [*causes, group_cause]
        causes.append(group_cause)
    elif (ahead := await _ahead(connection, message)) is not None:
        causes.append(ahead)
    return [*await _why_none_go(connection, message.queue_id), *causes] or [
        Cause("moving", "Nothing blocks it: it is next, and a client is waiting.", False)
    ]


async def _why_none_go(connection: AsyncConnection[Any], queue_id: int) -> list[Cause]:
    """What keeps all messages of a queue, whatever their group. A group holds back nobody else."""
    causes = await _why_queue(connection, queue_id)
    return [cause for cause in causes if cause.blocks and cause.code != "group_in_flight"]


async def _claimed(connection: AsyncConnection[Any], message: Message) -> Cause:
    session = Session.objects.filter(pk=message.holder or 0).select_related("client", "node", "key__client").first()
    if message.holder == OVER_HTTP:
        who = "a program over HTTP"
    elif session is None:
        who = f"session {message.holder}, which is gone"
    else:
        owner = session.client or (session.key.client if session.key else None)
        where = f"on {session.node}" if session.node else "which is away"
        who = f"{owner or 'an anonymous client'} (session {session.pk}, {where})"
    sentence = f"It is claimed by {who} until {time_text(message.lease_until)}, attempt {message.attempts}."
    facts = {"session": message.holder, "until": message.lease_until, "attempt": message.attempts}
    return Cause("claimed", sentence, facts=facts)


async def _ahead(connection: AsyncConnection[Any], message: Message) -> Cause | None:
    parameters = {
        "queue_id": message.queue_id,
        "rank": -message.priority,
        "index": message.index,
        "limit": MOST_AHEAD,
    }
    [ahead] = await fetch_rows(connection, statement("ahead_of"), parameters)
    if not ahead.messages:
        return None
    at_least = "at least " if ahead.messages >= MOST_AHEAD else ""
    sentence = (
        f"It is behind {at_least}{ahead.messages} ready messages: {ahead.higher} of higher priority,"
        f" {ahead.messages - ahead.higher} older ones of the same priority."
    )
    facts = {"messages": ahead.messages, "higher_priority": ahead.higher, "is_partial": bool(at_least)}
    return Cause("behind", sentence, False, facts)


async def _why_queue(connection: AsyncConnection[Any], queue_id: int) -> list[Cause]:
    heads = await fetch_rows(connection, statement("queue_head"), {"queue_id": queue_id})
    if not heads:
        return [Cause("gone", "The queue was deleted.")]
    head = heads[0]
    causes = []
    if head.paused:
        causes.append(Cause("paused", "The queue is paused: no messages are handed out until somebody resumes it."))
    if head.kind == Kind.STREAM:
        return [*causes, *await _readers_of_stream(connection, queue_id)]
    holders = await fetch_rows(connection, statement("claims_of_queue"), {"queue_id": queue_id, "limit": MOST_CLAIMS})
    causes += await why_limited(connection, queue_id, holders)
    if head.ready_index is None:
        causes += _nothing_ready(head, holders)
    causes += await _readers(connection, head)
    return causes or [Cause("moving", "Nothing blocks it: messages are ready, and clients are waiting.", False)]


def _nothing_ready(head: Any, holders: list[Any]) -> list[Cause]:
    causes = []
    if head.delayed_index is not None:
        sentence = f"Its messages are delayed; the next one is due {time_text(head.available_at)}."
        causes.append(Cause("delayed", sentence, facts={"until": head.available_at}))
    for row in holders[:MOST_SUBSCRIBERS]:
        sentence = f"{row.messages} are claimed by {holder_text(row)} until {time_text(row.last_ends)}."
        facts = {"session": row.holder, "messages": row.messages, "until": row.last_ends}
        causes.append(Cause("claimed", sentence, facts=facts))
    return causes or [Cause("empty", "The queue is empty.", False)]


async def _readers(connection: AsyncConnection[Any], head: Any) -> list[Cause]:
    parameters = {"queue_id": head.id, "lapse": settings.WILLOW.node_lapse}
    nodes = await fetch_rows(connection, statement("queue_readers"), parameters)
    readers, places = sum(row.readers for row in nodes), sum(row.places for row in nodes)
    if readers and all(row.draining for row in nodes):
        return [Cause("draining", "The waiting clients are on nodes that are stopping, which hand out no messages.")]
    if readers and (places or is_service_queue(head.name)):
        return []
    away = await _subscribers_away(connection, head.id)
    if not readers:
        what = "No worker serves it." if is_service_queue(head.name) else "No client is waiting for its messages."
        return [Cause("no_reader", what), *away]
    sentence = (
        f"All {readers} clients that read it have reached their limit of messages in flight,"
        " or hold messages and have not asked for more."
    )
    return [Cause("in_flight_bound", sentence, facts={"readers": readers}), *away]


async def _subscribers_away(connection: AsyncConnection[Any], queue_id: int) -> list[Cause]:
    parameters = {"queue_id": queue_id, "lapse": settings.WILLOW.node_lapse, "limit": MOST_SUBSCRIBERS}
    rows = await fetch_rows(connection, statement("queue_subscribers"), parameters)
    away = sorted({row.client for row in rows if row.node is None})
    if not away:
        return []
    sentence = f"Clients that subscribe to it are not connected: {', '.join(away)}."
    return [Cause("subscriber_away", sentence, False, {"clients": away})]


async def _readers_of_stream(connection: AsyncConnection[Any], queue_id: int) -> list[Cause]:
    parameters = {"queue_id": queue_id, "lapse": settings.WILLOW.node_lapse, "limit": MOST_SUBSCRIBERS}
    rows = await fetch_rows(connection, statement("queue_subscribers"), parameters)
    if not rows:
        return [Cause("no_reader", "No registered client subscribes to this stream.")]
    if all(row.node is None for row in rows):
        return await _subscribers_away(connection, queue_id)
    return [Cause("moving", "It is a stream: each client reads at its own pace.", False)]
