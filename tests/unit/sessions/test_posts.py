"""Reads of a connection wait for its posts before them, and for no others."""

from types import SimpleNamespace
from typing import Any

import pytest

from delivery.protocol.commands import Post
from delivery.sessions.posts import Posts
from delivery.sessions.under_way import UnderWay


@pytest.fixture
def posts() -> Posts:
    session: Any = SimpleNamespace(under_way=UnderWay())
    return Posts(session)


def begun(posts: Posts, *names: str) -> Post:
    command = Post(queues=names, message=b"")
    posts.began(command, len(command.message))
    return command


def test_a_read_waits_for_the_posts_before_it_and_not_for_those_behind_it(posts: Posts) -> None:
    first, second = begun(posts, "a"), begun(posts, "a", "b")
    read: list[str] = []
    posts.then("a", lambda: read.append("a"))
    third = begun(posts, "a")
    posts.ended(second)  # refused, for example
    assert read == []
    posts.ended(first)
    assert read == ["a"]
    posts.ended(third)
    assert read == ["a"]


def test_a_read_of_another_queue_waits_for_nothing(posts: Posts) -> None:
    begun(posts, "a")
    read: list[str] = []
    posts.then("b", lambda: read.append("b"))
    assert read == ["b"]


def test_reads_keep_their_order(posts: Posts) -> None:
    commands, read = [begun(posts, "a")], []
    posts.then("a", lambda: read.append(1))
    commands.append(begun(posts, "a"))
    posts.then("a", lambda: read.append(2))
    for command in commands:
        posts.ended(command)
    assert read == [1, 2]


def test_a_read_that_waits_because_of_another_read_is_not_forgotten(posts: Posts) -> None:
    first = begun(posts, "a")
    later: list[Post] = []
    read: list[str] = []

    def lets_others_go_on() -> None:
        posts.ended(begun(posts, "a"))  # refused at once
        later.append(begun(posts, "a"))
        posts.then("a", lambda: read.append("a"))

    posts.then("a", lets_others_go_on)
    posts.ended(first)
    posts.ended(later[0])
    assert read == ["a"]
