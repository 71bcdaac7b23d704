"""Messages that were promised to be stored and are nowhere; and messages that nobody posted."""

from collections.abc import Iterator

from faults.evidence import Evidence, Post
from faults.history import Event, Kind
from faults.verdicts import Finding


def lost(evidence: Evidence) -> Iterator[Finding]:
    """Told `sync`, and neither finished, nor waiting, nor dead."""
    for post in evidence.posts.values():
        notice = post.first("sync")
        if notice is not None and not _is_accounted_for(evidence, post, notice):
            allowed = any(fault.loses_storage and fault.ended >= notice.at for fault in evidence.faults)
            yield Finding(
                f"{_name(post.event)} was told `sync` as {notice.shard}/{notice.index} and is nowhere.",
                "the storage failed over without a synchronous replica" if allowed else "",
            )


def lost_writes(evidence: Evidence) -> Iterator[Finding]:
    """Told `write` but not `sync`, and nowhere, though the storage did not crash."""
    for post in evidence.posts.values():
        notice = post.first("write")
        if notice is None or post.first("sync") is not None or _is_accounted_for(evidence, post, notice):
            continue
        allowed = evidence.may_be_taken_back(notice.at)
        yield Finding(
            f"{_name(post.event)} was told `write` as {notice.shard}/{notice.index} and is nowhere.",
            "the storage crashed before it was flushed" if allowed else "",
        )


def _is_accounted_for(evidence: Evidence, post: Post, notice: Event) -> bool:
    message = evidence.live.get(notice.message)
    if message is not None and message.body == post.event.body:
        return True
    for ending in evidence.endings.get(notice.message, ()):
        if ending.is_last and ending.body in (None, post.event.body):
            return ending.outcome != "dead" or notice.message in evidence.buried
    return False


def ghosts(evidence: Evidence) -> Iterator[Finding]:
    """Received though nobody posted it, or another body than the one that was posted under these numbers."""
    bodies = {
        notice.message: post.event.body for post in evidence.posts.values() for notice in post.told if notice.index
    }
    for event in evidence.of_kind(Kind.RECEIVED):
        if event.body not in evidence.posts:
            yield Finding(
                f"{event.client} received {event.shard}/{event.index}, which nobody posted: {event.body[:60]!r}."
            )
        elif event.index and bodies.get(event.message, event.body) != event.body:
            told = bodies[event.message]
            yield Finding(
                f"{event.shard}/{event.index} was told to be {told[:60]!r} and received as {event.body[:60]!r}."
            )


def _name(event: Event) -> str:
    return f"{event.body[:60]!r} in {event.queue}"
