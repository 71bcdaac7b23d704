"""Replies to requests."""

from collections.abc import Iterator

from faults.evidence import Evidence
from faults.verdicts import Finding

PREFIX = "re "  # every worker answers with this and the request


def wrong_replies(evidence: Evidence) -> Iterator[Finding]:
    """To another request, or more than one to the same."""
    for post in evidence.posts.values():
        replies = [notice.body for notice in post.told if notice.stage == "reply"]
        for body in replies:
            if body != PREFIX + post.event.body:
                yield Finding(f"{post.event.client} asked {post.event.body[:60]!r} and was answered {body[:60]!r}.")
        if len(replies) > 1:
            yield Finding(f"{post.event.client} got {len(replies)} replies to {post.event.body[:60]!r}.")
