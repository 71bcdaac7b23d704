"""Replay: from the archive through a real broker, each message once, however often it is broken off."""

import argparse
import asyncio
import json
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from datetime import timedelta
from pathlib import Path

import pytest
from psycopg.types.json import Jsonb
from pyspark.sql import SparkSession

from pipeline.errors import PipelineError
from pipeline.replay import add_arguments, command, main
from pipeline.replay.record import Record
from tests.pipeline.kit import YESTERDAY, Ledger, row
from tests.support.cluster import Cluster
from tests.support.databases import Databases
from tests.support.fixtures import StartCluster
from willow_site.project_folder import PROJECT_FOLDER

sys.path.insert(0, str(PROJECT_FOLDER / "sdk"))  # used from the checkout, without installing it

import willow_client

NOT_UTF8 = bytes(range(256))
BODIES = [b"one", b"two", NOT_UTF8, b"four", b"five"]
SLICE = ("--from", YESTERDAY.isoformat(), "--to", (YESTERDAY + timedelta(hours=1)).isoformat())

Replay = Callable[..., str]
Taken = tuple[bytes, tuple[str, ...], int]  # body, tags, priority
EXTRAS = {
    "headers": {"traceparent": "00-1-2-01", "willow-schedule": "nightly"},
    "group": "ann",
    "key": "a-17",
    "unique": "order 17",
}


@pytest.fixture(scope="module")
def archived(databases: Databases, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ledger]:
    """Five messages of `orders` with bodies, and others that a replay of them must leave alone."""
    url = databases.make()
    ledger = Ledger(url, tmp_path_factory.mktemp("archive"))

    def ended(index: int, second: int, **said: object) -> dict[str, object]:
        return row(index, YESTERDAY + timedelta(seconds=second), **said)

    ledger.write(
        *(ended(number, 10 - number, body=body) for number, body in enumerate(BODIES, start=1)),
        ended(2, 1, outcome="retried", reason="failed"),
        ended(6, 11),
        ended(1, 15, queue_id=4, queue_name="told", queue_tags=[], body=b"all of it", priority=7, extras=Jsonb(EXTRAS)),
        *(
            ended(number, 15, queue_id=5, queue_name="once", body=body, extras=Jsonb({"unique": body.decode()}))
            for number, body in enumerate((b"a", b"b", b"a"), start=1)
        ),
        ended(7, 12, outcome="dead", reason="failed", body=b"dead"),
        ended(8, -1, body=b"too early"),
        ended(9, 3600, body=b"too late"),
        ended(1, 13, queue_id=2, queue_name="bills", queue_tags=[], body=b"a bill"),
        ended(1, 14, queue_id=3, queue_tags=[], body=b"no tags"),
    )
    ledger.archive(spark)
    yield ledger
    databases.drop(url)


@pytest.fixture
def replay(
    archived: Ledger,
    broker: Cluster,
    queue: str,
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> Replay:
    """Runs the command, into a queue of the test's own, and returns what it said."""
    monkeypatch.setenv("DATABASE_URL", archived.url)
    monkeypatch.setenv("WILLOW_PIPELINE_ARCHIVE", archived.options.archive)
    monkeypatch.setenv("WILLOW_HOME", str(tmp_path))
    monkeypatch.setattr(command, "spark_session", lambda options: nullcontext(spark))

    def run(*more: str) -> str:
        parser = argparse.ArgumentParser()
        add_arguments(parser)
        orders = ("--queue", "orders", "--tags", "eu", "--outcome", "finished")
        main(parser.parse_args([*orders, *SLICE, "--into", queue, "--url", broker.node.url, "--rate", "1000", *more]))
        return capsys.readouterr().out

    return run


@pytest.fixture
def taken(broker: Cluster, queue: str) -> Callable[[], list[Taken]]:
    """Takes all messages out of the test's queue."""

    async def take() -> list[Taken]:
        async with willow_client.connect(broker.node.url) as client:
            messages = await client.pop_many(queue, 100)
            return [(message.body, message.tags, message.priority) for message in messages]

    return lambda: asyncio.run(take())


def bodies(taken: Callable[[], list[Taken]]) -> list[bytes]:
    return [body for body, _, _ in taken()]


def test_without_go_nothing_is_posted(replay: Replay, taken: Callable[[], list[Taken]], tmp_path: Path) -> None:
    said = replay()
    assert "6 messages of orders ended from" in said
    assert "5 have a body, 50 B in all." in said
    assert "1 have none and cannot be posted" in said
    assert "5 are to be posted, in about 5.0 ms at 1000 per second." in said
    assert "This was a dry run: nothing was posted." in said
    assert taken() == []
    assert list(tmp_path.iterdir()) == []


def test_messages_with_a_body_are_posted_in_their_order(replay: Replay, taken: Callable[[], list[Taken]]) -> None:
    said = replay("--go")
    assert re.search(r"Posted 5 messages into queue-\w+ now, 0 before\.", said)
    assert "1 have no body and were not posted" in said
    assert taken() == [(body, ("eu",), 0) for body in BODIES]


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        (("--outcome", "dead"), [*BODIES, b"dead"]),
        (("--tags", ""), [b"no tags"]),
        (("--queue", "bills", "--tags", ""), [b"a bill"]),
        (("--from", (YESTERDAY + timedelta(seconds=7)).isoformat()), BODIES[:3]),
        (("--queue", "unknown"), []),
    ],
)
def test_what_is_posted_can_be_chosen(
    replay: Replay, taken: Callable[[], list[Taken]], more: tuple[str, ...], expected: list[bytes]
) -> None:
    replay("--go", *more)
    assert bodies(taken) == expected


def test_headers_group_key_unique_and_priority_are_posted_again(replay: Replay, broker: Cluster, queue: str) -> None:
    """Without the headers that only the broker may set."""

    async def define() -> None:
        async with willow_client.connect(broker.node.url) as client:
            await client.create(queue, updatable=True)

    asyncio.run(define())
    replay("--go", "--queue", "told", "--tags", "")
    posted = "SELECT m.headers, m.group_key, m.key, m.unique_key, m.priority FROM delivery_message m"
    of_queue = " JOIN queues_queue q ON q.id = m.queue_id WHERE q.name = %s"
    assert broker.query(posted + of_queue, queue) == [({"traceparent": "00-1-2-01"}, "ann", "a-17", "order 17", 7)]


def test_a_message_whose_unique_text_lives_in_the_queue_is_not_stored_and_counted(
    replay: Replay, taken: Callable[[], list[Taken]], broker: Cluster, queue: str
) -> None:
    """One of the archive's own, and one that somebody else posted. None of them is tried again."""

    async def post() -> None:
        async with willow_client.connect(broker.node.url) as client:
            await client.post(queue, b"here before", tags=["eu"], unique="b")

    asyncio.run(post())
    said = replay("--go", "--queue", "once", "--rate", "10")  # one at a time
    assert "Posted 1 messages" in said and "2 are duplicates: when they were posted, a message with the same" in said
    assert bodies(taken) == [b"here before", b"a"]
    said = replay("--go", "--queue", "once")
    assert "now, 1 before." in said and "2 are duplicates" in said and "are not posted yet" not in said
    assert "0 are to be posted" in replay("--queue", "once")
    assert taken() == []


def test_what_is_sent_again_and_known_to_the_broker_is_no_duplicate(
    replay: Replay, taken: Callable[[], list[Taken]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Record, "answered", breaks)
        with pytest.raises(KeyboardInterrupt):
            replay("--go", "--queue", "told", "--tags", "")
    said = replay("--go", "--queue", "told", "--tags", "")
    assert "Posted 1 messages" in said and "duplicates" not in said
    assert bodies(taken) == [b"all of it"]


def test_other_tags_can_be_given(replay: Replay, taken: Callable[[], list[Taken]]) -> None:
    replay("--go", "--into-tags", "again, b")
    assert {tags for _, tags, _ in taken()} == {("again", "b")}


def test_a_second_run_posts_nothing_more_unless_it_is_told_to(
    replay: Replay, taken: Callable[[], list[Taken]], tmp_path: Path
) -> None:
    replay("--go")
    assert "now, 5 before." in replay("--go")
    assert "5 were posted before" in replay("--dry-run")
    assert bodies(taken) == BODIES
    replay("--go", "--again")
    assert bodies(taken) == BODIES
    assert len(list((tmp_path / "replays").iterdir())) == 2  # the record, and that of the first time


@pytest.mark.parametrize("broken_off", [1, 2, 3])
def test_a_run_that_was_broken_off_is_gone_on_with(
    replay: Replay, taken: Callable[[], list[Taken]], monkeypatch: pytest.MonkeyPatch, broken_off: int
) -> None:
    """After the broker has stored a batch, and before that is written down: the worst moment."""
    write_down, batches = Record.answered, 0

    def breaks(self: Record, *what: object) -> None:
        nonlocal batches
        batches += 1
        if batches == broken_off:
            raise KeyboardInterrupt
        write_down(self, *what)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(Record, "answered", breaks)
        with pytest.raises(KeyboardInterrupt):
            replay("--go", "--rate", "20")  # two at a time
    said = replay("--go")
    before = 2 * (broken_off - 1)
    assert f"Posted {5 - before} messages" in said and f"now, {before} before." in said
    assert bodies(taken) == BODIES


@pytest.mark.parametrize(("choice", "expected"), [("post", BODIES), ("skip", BODIES[2:])])
def test_what_may_have_been_posted_long_ago_is_for_a_person_to_decide(
    replay: Replay, taken: Callable[[], list[Taken]], tmp_path: Path, choice: str, expected: list[bytes]
) -> None:
    replay("--go", "--rate", "20")
    taken()
    (file,) = (tmp_path / "replays").iterdir()
    about, sending, *_ = file.read_text().splitlines()
    long_ago = {**json.loads(sending), "at": (YESTERDAY - timedelta(days=1)).isoformat()}
    other_texts = {**json.loads(about), "nonce": "other"}  # those of today are still known to the broker
    file.write_text(f"{json.dumps(other_texts)}\n{json.dumps(long_ago)}\n")
    with pytest.raises(PipelineError, match="2 messages were in progress when the last run stopped"):
        replay("--go")
    said = replay("--go", "--unsure", choice)
    assert ("left out: it may have been posted before" in said) == (choice == "skip")
    assert bodies(taken) == expected


def test_a_record_whose_last_line_was_cut_off_is_read_without_it(
    replay: Replay, taken: Callable[[], list[Taken]], tmp_path: Path
) -> None:
    replay("--go")
    (file,) = (tmp_path / "replays").iterdir()
    with file.open("a") as record:
        record.write('{"sending": [[1, 99')
    assert "now, 5 before." in replay("--go")
    assert all(json.loads(line) for line in file.read_text().splitlines())
    assert bodies(taken) == BODIES


def test_a_full_queue_ends_the_run_and_the_next_one_goes_on(
    replay: Replay, taken: Callable[[], list[Taken]], broker: Cluster, queue: str
) -> None:
    async def bound() -> None:
        async with willow_client.connect(broker.node.url) as client:
            await client.create(queue, tags=["eu"], max_length=3)

    asyncio.run(bound())
    with pytest.raises(PipelineError, match="The broker refused the posts: Overloaded"):
        replay("--go")
    assert len(posted := bodies(taken)) == 3
    replay("--go")
    assert sorted(posted + bodies(taken)) == sorted(BODIES)


def test_a_message_that_is_refused_is_named_and_the_others_are_posted(
    replay: Replay, start_cluster: StartCluster
) -> None:
    with start_cluster(WILLOW_MAX_BODY_BYTES="100") as small:
        said = replay("--go", "--url", small.node.url)
        kept = small.query("SELECT count(*) FROM delivery_message")
    assert "Posted 4 messages" in said
    assert re.search(r"Not posted: message 3 of queue number 1: TooLarge", said)
    assert kept == [(4,)]


def test_two_runs_of_one_replay_do_not_meet(replay: Replay, monkeypatch: pytest.MonkeyPatch) -> None:
    def meanwhile(*_: object, **__: object) -> None:
        replay("--go")

    monkeypatch.setattr(command, "post_all", meanwhile)
    with pytest.raises(PipelineError, match="This replay is already running"):
        replay("--go")


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        (
            ("--from", "2026-01-02", "--to", "2026-01-01"),
            "--from is 2026-01-02 00:00:00+00:00, which is not before --to",
        ),
        (("--to", "2999-01-01"), "which is still to come"),
        (("--from", "2001-01-01", "--to", "2001-01-02"), "The archive has nothing of that time: its days are"),
        (("--go", "--url", "ws://127.0.0.1:1/connect/"), "The broker cannot be reached at ws://127.0.0.1:1/connect/"),
        (("--key-file", "/nowhere"), "--key-file /nowhere cannot be read"),
    ],
)
def test_what_cannot_be_done_is_explained(replay: Replay, more: tuple[str, ...], reason: str) -> None:
    with pytest.raises(PipelineError, match=re.escape(reason)):
        replay(*more)


def test_a_key_that_the_broker_does_not_know_is_not_taken_for_a_broker_that_is_down(
    replay: Replay, broker: Cluster, tmp_path: Path
) -> None:
    key_file = tmp_path / "key"
    key_file.write_text("nobody's")
    with pytest.raises(PipelineError, match="does not let us in"):
        replay("--go", "--url", broker.node.url, "--key-file", str(key_file))


@pytest.mark.parametrize("more", [("--rate", "0"), ("--rate", "nan"), ("--from", "noon"), ("--go", "--dry-run")])
def test_bad_arguments_are_refused(replay: Replay, more: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit):
        replay(*more)
