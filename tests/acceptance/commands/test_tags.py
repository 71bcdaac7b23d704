"""A queue is a name and a set of tags; `match` says which queues of a name a reader's tags choose."""

from itertools import combinations
from typing import Any

import pytest

from delivery.engine.matching import matches
from tests.support.client import Client

TAGS = "abcd"
SUBSETS = ["".join(some) for size in range(len(TAGS) + 1) for some in combinations(TAGS, size)]

# The table of the protocol, word by word: does a queue that has these tags match a reader that wants those?
MEANINGS = {
    "all": lambda has, wants: True,
    "exact": lambda has, wants: all((tag in has) == (tag in wants) for tag in TAGS),
    "strict": lambda has, wants: all(tag in has for tag in wants),
    "combined": lambda has, wants: any(tag in has for tag in wants),
    "any": lambda has, wants: any(tag in has for tag in wants),
}


def chosen(match: str, wants: str) -> list[str]:
    """Of queues with every subset of the tags, those that the reader reads."""
    return [has for has in SUBSETS if MEANINGS[match](has, wants)]


async def test_a_queue_has_as_many_tags_of_such_a_length_as_is_documented(client: Client, queue: str) -> None:
    """All of them together are larger than what an index of PostgreSQL holds."""
    characters = "ä日é😀"  # of 2 to 4 bytes
    tags = [f"{number:03}" + characters[number % 4] * 197 for number in range(64)]
    made = await client.create(queue, tags=tags)
    assert (made["created"], len(made["tags"])) == (True, 64)
    assert (await client.create(queue, tags=tags))["shard"] == made["shard"]
    assert (await client.create(queue, tags=tags[1:]))["created"]
    await client.post(queue, "m", tags=tags)
    assert (await client.fetch(queue, tags=tags))["body"] == "m"


# which queues match


@pytest.mark.parametrize("match", MEANINGS)
def test_the_directory_keeps_to_the_truth_table(match: Any) -> None:
    for wants in SUBSETS:
        assert [has for has in SUBSETS if matches(has, frozenset(wants), match)] == chosen(match, wants), wants


@pytest.mark.parametrize("match", MEANINGS)
async def test_a_subscription_keeps_to_the_truth_table(client: Client, queue: str, match: str) -> None:
    for has in SUBSETS:
        await client.create(queue, tags=list(has))
    for wants in SUBSETS:
        label = await client.begin("subscribe", queue, tags=list(wants), match=match)
        subscribed = await client.expect(label, type="subscribed")
        read = ["".join(each["tags"]) for each in subscribed["queues"]]
        assert sorted(read) == sorted(chosen(match, wants)), wants


@pytest.mark.parametrize(("tags", "match"), [([], "all"), (["a", "b"], "exact")])
async def test_without_match_tags_mean_exactly_these_and_no_tags_mean_all(
    client: Client, queue: str, tags: list[str], match: str
) -> None:
    for has in ("", "a", "ab", "abc"):
        await client.create(queue, tags=list(has))
    by_default = await client.expect(await client.begin("subscribe", queue, tags=tags), type="subscribed")
    by_match = await client.expect(await client.begin("subscribe", queue, tags=tags, match=match), type="subscribed")
    assert by_default["queues"] == by_match["queues"]


@pytest.mark.parametrize("read", ["fetch", "pop"])
async def test_with_any_reads_of_one_message_take_turns_too(client: Client, queue: str, read: str) -> None:
    for tag in ("a", "b"):
        await client.post_all(queue, ["1", "2", "3"], tags=[tag])
    labels = [await client.begin(read, queue, tags=["a", "b"], match="any") for _ in range(5)]
    taken = [(await client.expect(label, type="message"))["tags"] for label in labels]
    assert taken in ([["a"], ["b"], ["a"], ["b"], ["a"]], [["b"], ["a"], ["b"], ["a"], ["b"]])


# creating


async def test_creating_a_queue_again_changes_nothing_whatever_the_order_of_its_tags(
    client: Client, queue: str
) -> None:
    first = await client.create(queue, tags=["b", "a", "b"], retry_limit=7)
    assert (first["created"], first["tags"]) == (True, ["a", "b"])
    again = await client.create(queue, tags=["a", "b"], retry_limit=1, kind="stream", max_length=1)
    assert again == first | {"created": False, "label": again["label"]}


async def test_the_same_name_with_other_tags_is_another_queue(client: Client, queue: str) -> None:
    tag_sets = [[], ["a"], ["b"], ["a", "b"]]
    queues = [await client.create(queue, tags=tags) for tags in tag_sets]
    assert [each["created"] for each in queues] == [True] * 4
    assert len({each["shard"] for each in queues}) == 4
