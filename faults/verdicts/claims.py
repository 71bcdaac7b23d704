"""Who held which message when, and whose word about it was taken."""

from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime
from itertools import pairwise

from faults.evidence import Delivery, Evidence, MessageKey
from faults.history import Event, Kind
from faults.remains import Ending
from faults.verdicts import Finding

# Between a moment in the storage and the same moment in a client's history, on a busy machine.
SLACK_SECONDS = 2.0


def double_claims(evidence: Evidence) -> Iterator[Finding]:
    """Two clients held one message at once."""
    for message, deliveries in evidence.deliveries.items():
        for first, second in pairwise(deliveries):
            overlap = first.held_until - second.event.at
            came_in_time = second.event.at < second.lease_until  # one that was frozen reads claims that are over
            if first.session != second.session and overlap > SLACK_SECONDS and came_in_time:
                yield Finding(
                    f"{_text(message)} was received by {second.event.client} (attempt {second.event.attempt}) "
                    f"{overlap:.1f} s before {first.event.client} (attempt {first.event.attempt}) could know "
                    f"that it had lost it. {_how_it_ended(evidence, first, second)}",
                    _why_handed_over(evidence, first, second),
                )


def _why_handed_over(evidence: Evidence, first: Delivery, second: Delivery) -> str:
    """Rightful if the broker knew that the first client had gone: then nothing comes over its connection any more."""
    if evidence.crashed_between(first.event.at - SLACK_SECONDS, second.event.at):
        return "the storage crashed before the claim was flushed"
    ending = ending_of_attempt(evidence, first.event)
    if ending is None or ending.reason != "disconnected" or ending.ended_at > second.event.at + SLACK_SECONDS:
        return ""
    connection = evidence.connections.get((first.event.client, first.connection))
    if connection is None or connection.ended is None or connection.last_alive > ending.ended_at + SLACK_SECONDS:
        return ""
    return "the broker had lost the connection before the client noticed"


def _how_it_ended(evidence: Evidence, first: Delivery, second: Delivery) -> str:
    """So that a wrong can be looked into when the histories are gone."""
    when = datetime.fromtimestamp(second.event.at).strftime("%H:%M:%S")
    ending = ending_of_attempt(evidence, first.event)
    if ending is None:
        return f"That was at {when}; the journal has no end of attempt {first.event.attempt}."
    before, why = second.event.at - ending.ended_at, ending.reason or ending.outcome
    return f"That was at {when}, {before:.1f} s after attempt {first.event.attempt} ended: {why}."


def ending_of_attempt(evidence: Evidence, received: Event) -> Ending | None:
    return next(
        (ending for ending in evidence.endings.get(received.message, ()) if ending.attempt == received.attempt), None
    )


def finished_twice(evidence: Evidence) -> Iterator[Finding]:
    finishes: dict[MessageKey, list[Event]] = defaultdict(list)
    for one in evidence.said:
        if one.event.verb == "finish" and one.confirmed and one.event.shard not in evidence.streams:
            finishes[one.event.message].append(one.confirmed[-1])
    for message, told in finishes.items():
        for first, second in pairwise(sorted(told, key=lambda event: event.at)):
            taken_back = first.stage != "sync" and evidence.may_be_taken_back(first.at)
            yield Finding(
                f"{_text(message)} was finished by {first.client} and by {second.client}.",
                "the storage crashed before the first finish was flushed" if taken_back else "",
            )
    for message, endings in evidence.endings.items():
        if sum(ending.is_last for ending in endings) > 1:
            yield Finding(f"{_text(message)} has ended more than once in the journal.")


def redelivered_after_finish(evidence: Evidence) -> Iterator[Finding]:
    """Handed out again after a finish that was told `sync`."""
    for one in evidence.said:
        synced = next((event for event in one.confirmed if event.stage == "sync"), None)
        if one.event.verb != "finish" or synced is None:
            continue
        for delivery in evidence.deliveries.get(one.event.message, ()):
            if delivery.event.attempt > one.event.attempt and delivery.event.at > synced.at:
                yield Finding(
                    f"{_text(one.event.message)} came to {delivery.event.client} as attempt {delivery.event.attempt} "
                    f"after {one.event.client} was told that its finish of attempt {one.event.attempt} is on disk."
                )


def stale_finishes(evidence: Evidence) -> Iterator[Finding]:
    """A finish of an earlier attempt ended the message, though another one was running."""
    for one in evidence.said:
        if one.event.verb != "finish" or not one.confirmed or not one.event.attempt:
            continue
        for ending in evidence.endings.get(one.event.message, ()):
            if ending.outcome == "finished" and ending.attempt != one.event.attempt:
                taken_back = evidence.may_be_taken_back(one.confirmed[-1].at) and one.confirmed[-1].stage != "sync"
                yield Finding(
                    f"{one.event.client} finished attempt {one.event.attempt} of {_text(one.event.message)}, which "
                    f"ended as attempt {ending.attempt}.",
                    "the storage crashed before the finish was flushed" if taken_back else "",
                )


def duplicates(evidence: Evidence) -> Iterator[Finding]:
    """Received more than once. Each is to be explained by an attempt that ended without a finish."""
    for message, deliveries in evidence.deliveries.items():
        for first, second in pairwise(deliveries):
            about = f"{_text(message)} came to {first.event.client} and then to {second.event.client}."
            yield Finding(about, _why_again(evidence, first, second))


def _why_again(evidence: Evidence, first: Delivery, second: Delivery) -> str:
    if first.session == second.session and first.event.attempt == second.event.attempt:
        return "sent again to the same client, which had reconnected"
    earlier, later = sorted((first.event, second.event), key=lambda event: event.attempt)
    ended = {ending.attempt: ending for ending in evidence.endings[message_of(first)] if not ending.is_last}
    if earlier.attempt in ended:
        return f"the attempt before ended: {ended[earlier.attempt].reason or 'no reason kept'}"
    if any(one.event.verb == "release" for one in evidence.said_of.get((first.event.client, message_of(first)), ())):
        return "the client before gave it back"
    if evidence.crashed_between(earlier.at - SLACK_SECONDS, max(earlier.at, later.at)):
        return "the storage crashed before the claim, or its end, was flushed"
    return ""


def message_of(delivery: Delivery) -> MessageKey:
    return delivery.event.message


def popped_twice(evidence: Evidence) -> Iterator[Finding]:
    """What a pop took came again: it had ended when it was sent."""
    popped: dict[MessageKey, Event] = {}
    for event in evidence.of_kind(Kind.RECEIVED):
        if not event.ended or not event.index:
            continue
        first = popped.setdefault(event.message, event)
        if first is not event:
            taken_back = evidence.crashed_between(first.at - SLACK_SECONDS, event.at)
            yield Finding(
                f"{_text(event.message)} was popped by {first.client} and by {event.client}.",
                "the storage crashed before the first pop was flushed" if taken_back else "",
            )


def _text(message: MessageKey) -> str:
    return f"{message[0]}/{message[1]}"
