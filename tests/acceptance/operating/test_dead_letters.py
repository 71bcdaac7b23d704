"""Dead letters are grouped, redriven at a rate by the reaper, brought back, purged and exported."""

import asyncio
import json
from typing import Any

import pytest
from django.core.exceptions import ValidationError

from delivery.models import Message, RedriveJob, RedrivenMessage
from delivery.moves.message_id import MessageId
from delivery.operating import dead_letters
from delivery.operating import redrive_jobs as redrive
from delivery.operating.redrive_steps import ORIGIN_IS_GONE
from tests.acceptance.operating.chosen import all_of, queue_of
from tests.acceptance.operating.conftest import Act
from tests.support.client import LOOK_SECONDS, Client
from tests.support.cluster import PATIENCE
from tests.support.operators import OPERATOR


async def bury(client: Client, queue: str, errors: list[str], **create: Any) -> int:
    """Messages of a queue die with these errors. Returns the shard of the dead letter queue."""
    await client.create(queue, retry_limit=1, **create)
    for error in errors:
        await client.post(queue, f"body of {error}")
        await client.fail(await client.fetch(queue), error=error)
    return (await client.create(f"{queue}.dead"))["shard"]


async def ended(act: Act, job: RedriveJob, state: str = "done") -> RedriveJob:
    async with asyncio.timeout(PATIENCE):
        while (now := await act(RedriveJob.objects.get, pk=job.pk)).state != state:
            await asyncio.sleep(LOOK_SECONDS)
    return now


async def test_groups_are_by_reason_and_by_what_errors_have_in_common(act: Act, client: Client, queue: str) -> None:
    shard = await bury(client, queue, ["timeout after 30 s", "timeout after 45.5 s", "no row 'x1'", "no row 'b'"])
    groups = await act(dead_letters.dead_letter_groups, queue_ids=[shard])
    found = {(group.queue_name, group.reason, group.signature): group.messages for group in groups}
    assert found == {
        (f"{queue}.dead", "failed", "timeout after # s"): 2,
        (f"{queue}.dead", "failed", "no row '…'"): 2,
    }
    assert not groups[0].is_partial


async def test_all_of_a_filter_go_back_to_where_they_came_from(act: Act, client: Client, queue: str) -> None:
    shard = await bury(client, queue, ["slow 1", "slow 2", "odd"])
    waiting = await client.subscribe(queue, in_flight=10)
    chosen = all_of(shard, signature="slow #")
    dry = await act(redrive.redrive_dry_run, chosen=chosen)
    assert (dry.messages, dry.by_target, dry.without_target, dry.more) == (2, {queue: 2}, 0, False)
    job = await act(redrive.redrive_start, chosen=chosen, by=OPERATOR)
    messages = await client.messages(waiting, 2)
    assert [(message["body"], message["attempt"]) for message in messages] == [
        ("body of slow 1", 1),
        ("body of slow 2", 1),
    ]
    done = await ended(act, job)
    assert (done.total, done.moved, done.skipped, done.failed) == (2, 2, 0, 0)
    assert (await client.fetch(f"{queue}.dead"))["body"] == "body of odd"


async def test_what_dies_again_is_not_redriven_by_the_same_job(act: Act, client: Client, queue: str) -> None:
    shard = await bury(client, queue, ["always"])
    job = await act(redrive.redrive_start, chosen=all_of(shard), by=OPERATOR)
    await client.fail(await client.fetch(queue, block_timeout=30), error="always")
    assert (await ended(act, job)).moved == 1
    assert (await client.fetch(f"{queue}.dead", block_timeout=30))["body"] == "body of always"


async def test_chosen_ones_go_to_another_queue(act: Act, client: Client, queue: str) -> None:
    shard = await bury(client, queue, ["a", "b"])
    target = await client.create(f"{queue}-other")

    def start() -> RedriveJob:
        second = Message.objects.filter(queue_id=shard).order_by("index")[1]
        chosen = [MessageId(shard, second.sequence, second.index), MessageId(shard, 999)]
        return redrive.redrive_start(chosen=chosen, target=queue_of(target["shard"]), by=OPERATOR)

    done = await ended(act, await act(start))
    assert (done.moved, done.skipped) == (1, 1)
    assert (await client.fetch(f"{queue}-other"))["body"] == "body of b"


async def test_a_rate_is_kept(act: Act, client: Client, queue: str) -> None:
    """At one message in a thousand seconds the job stays where it is; without a rate it would be over at once."""
    shard = await bury(client, queue, ["a", "b"])
    slow = await act(redrive.redrive_start, chosen=all_of(shard), rate=0.001, by=OPERATOR)
    quick_shard = await bury(client, f"{queue}-2", ["c"])
    await ended(act, await act(redrive.redrive_start, chosen=all_of(quick_shard), by=OPERATOR))
    job = await act(RedriveJob.objects.get, pk=slow.pk)
    assert (job.state, job.moved) == ("running", 0)
    await act(redrive.redrive_cancel, job=job, by=OPERATOR)
    with pytest.raises(ValidationError, match="does not run"):
        await act(redrive.redrive_cancel, job=job, by=OPERATOR)


async def test_undoing_brings_back_what_nobody_has_taken(act: Act, client: Client, queue: str) -> None:
    shard = await bury(client, queue, ["a", "b", "c"])
    job = await ended(act, await act(redrive.redrive_start, chosen=all_of(shard), by=OPERATOR))
    taken = await client.fetch(queue)
    await act(redrive.redrive_undo, job=job, by=OPERATOR)
    undone = await ended(act, job, "undone")
    assert (undone.moved, undone.returned) == (3, 2)
    await client.finds_nothing(queue)
    await client.finish(taken)

    def dead() -> list[Any]:
        rows = Message.objects.filter(queue_id=shard).order_by("index")
        return list(rows.values_list("last_error", "dead_reason", "origin_index"))

    assert await act(dead) == [("b", "failed", 2), ("c", "failed", 3)]
    assert not await act(RedrivenMessage.objects.filter(job=job).exists)
    with pytest.raises(ValidationError, match="cannot be undone"):
        await act(redrive.redrive_undo, job=job, by=OPERATOR)


async def test_a_queue_that_is_gone_is_said(act: Act, client: Client, broker: Any, queue: str) -> None:
    shard = await bury(client, queue, ["a"])
    broker.query("DELETE FROM queues_queue WHERE name = %s", queue)
    assert (await act(redrive.redrive_dry_run, chosen=all_of(shard))).without_target == 1
    done = await ended(act, await act(redrive.redrive_start, chosen=all_of(shard), by=OPERATOR))
    assert (done.moved, done.failed, done.problem) == (0, 1, ORIGIN_IS_GONE)


async def test_dead_letters_that_a_client_holds_stay(act: Act, client: Client, queue: str) -> None:
    shard = await bury(client, queue, ["a", "b"])
    held = await client.fetch(f"{queue}.dead")
    done = await ended(act, await act(redrive.redrive_start, chosen=all_of(shard), by=OPERATOR))
    assert (done.moved, done.skipped) == (1, 1)
    await client.finish(held)


async def test_they_are_exported_line_by_line_and_purged(act: Act, client: Client, queue: str) -> None:
    shard = await bury(client, queue, ["a", "ü"])

    def export() -> list[Any]:
        lines = b"".join(dead_letters.dead_letters_export(chosen=all_of(shard), by=OPERATOR)).splitlines()
        return [json.loads(line) for line in lines]

    exported = await act(export)
    assert [(line["body"], line["error"], line["origin_index"]) for line in exported] == [
        ("body of a", "a", 1),
        ("body of ü", "ü", 2),
    ]
    assert (await act(dead_letters.dead_letters_purge, chosen=all_of(shard), by=OPERATOR)).done == 2
    await client.finds_nothing(f"{queue}.dead")


async def test_only_dead_letters_are_redriven(act: Act, client: Client, queue: str) -> None:
    shard = (await client.post(queue, "alive"))["shard"]
    with pytest.raises(ValidationError, match="holds no dead letters"):
        await act(redrive.redrive_start, chosen=all_of(shard), by=OPERATOR)


@pytest.mark.parametrize("wrong", [{"rate": 0}, {"rate": float("nan")}, {"undo_seconds": -1}])
async def test_wrong_values_are_refused(act: Act, client: Client, queue: str, wrong: dict[str, Any]) -> None:
    shard = await bury(client, queue, ["a"])
    with pytest.raises(ValidationError):
        await act(redrive.redrive_start, chosen=all_of(shard), by=OPERATOR, **wrong)
