"""Who keeps the event loop busy pauses while others use it, and only then."""

import asyncio
from collections.abc import Callable

import pytest

from delivery.gateway import loop_share
from delivery.gateway.loop_share import MOST_REST_SECONDS, TIMES, TIMES_FOR_NOTHING, LoopShare, Turnstile
from delivery.storage.presence import LATELY, Presence
from willow_site.server.http_turns import FOR_NOTHING_SECONDS, HttpTurns, wants_websocket


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Its only element is the time."""
    now = [1000.0]
    monkeypatch.setattr(loop_share.time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(loop_share, "clients_here", Presence())
    monkeypatch.setattr(loop_share, "_turnstile", Turnstile())
    return now


def test_a_client_that_is_alone_never_pauses(clock: list[float]) -> None:
    share = LoopShare()
    for _ in range(3):
        share.is_here()
        assert share.pause_after(0.001) == 0.0


def test_beside_others_it_pauses_for_twice_as_long_as_it_was_busy(clock: list[float]) -> None:
    busy, modest = LoopShare(), LoopShare()
    modest.is_here()
    busy.is_here()
    assert busy.pause_after(0.001) == pytest.approx(TIMES * 0.001)
    together = "what reads its frames and what runs its commands"
    assert busy.pause_after(0.002) == pytest.approx(TIMES * 0.003), together
    assert modest.pause_after(0.001) == pytest.approx(TIMES * 0.001)


def test_what_it_is_sent_counts_at_its_next_pause(clock: list[float]) -> None:
    busy, modest = LoopShare(), LoopShare()
    busy.is_here()
    busy.was_busy(0.005)
    assert busy.pause_after(0.001) == 0.0, "it was alone"
    modest.is_here()
    busy.was_busy(0.005)
    assert busy.pause_after(0.001) == pytest.approx(TIMES * 0.006)
    busy.was_busy(10)
    assert busy.pause_after(0.001) == pytest.approx(MOST_REST_SECONDS), "it is not shut out"


def test_of_several_that_were_busy_one_goes_on_in_each_pass_of_the_loop() -> None:
    passes, went_on, turnstile = 0, [], Turnstile()

    async def count_passes() -> None:
        nonlocal passes
        while True:
            passes += 1
            await asyncio.sleep(0)

    async def go_on() -> None:
        await turnstile.go_through()
        went_on.append(passes)

    async def run() -> None:
        counting = asyncio.create_task(count_passes())
        await asyncio.gather(*(go_on() for _ in range(5)))
        counting.cancel()

    asyncio.run(run())
    assert len(set(went_on)) == 5


def test_whoever_pauses_waits_for_others_that_do(clock: list[float]) -> None:
    async def run() -> None:
        busy, turnstile = LoopShare(), loop_share._turnstile
        LoopShare().is_here()
        busy.is_here()
        async with turnstile._turn:
            waiting = asyncio.create_task(busy.step_back(0.001))
            await asyncio.wait_for(_until(lambda: turnstile._turn._waiters), 5)
            assert not waiting.done()
        await waiting

    asyncio.run(run())


async def _until(condition: Callable[[], object]) -> None:
    while not condition():
        await asyncio.sleep(0)


def test_what_is_of_no_use_counts_several_times(clock: list[float]) -> None:
    busy = LoopShare()
    LoopShare().is_here()
    busy.is_here()
    assert busy.pause_after(0.001, for_nothing=True) == pytest.approx(0.001 * TIMES_FOR_NOTHING)


def test_whoever_was_there_long_ago_does_not_count(clock: list[float]) -> None:
    busy, modest = LoopShare(), LoopShare()
    modest.is_here()
    clock[0] += LATELY * 2
    busy.is_here()
    assert busy.pause_after(0.001) == 0.0


async def test_requests_wait_for_each_other_while_clients_are_active(clock: list[float]) -> None:
    turns, begun = HttpTurns(), list[str]()

    def work(name: str) -> None:
        begun.append(name)
        clock[0] += 0.001

    turns.begin(lambda: work("alone"))
    assert not turns.must_wait(), "no client is active"
    LoopShare().is_here()
    turns.begin(lambda: work("first"))
    assert turns.must_wait()
    done = asyncio.Event()
    turns.wait(lambda: work("second"))
    turns.wait(done.set)
    assert begun == ["alone", "first"]
    await asyncio.wait_for(done.wait(), 10)
    assert begun == ["alone", "first", "second"]


async def test_a_request_that_was_refused_makes_the_next_one_wait_longer(clock: list[float]) -> None:
    turns, pauses = HttpTurns(), list[float]()
    LoopShare().is_here()

    def pause_after_a_request() -> float:
        clock[0] += MOST_REST_SECONDS  # what came before is over
        LoopShare().is_here()
        return turns._share.pause_after(0.001)

    pauses.append(pause_after_a_request())
    turns.was_for_nothing()
    pauses.append(turns._share.pause_after(0.001))
    assert pauses == [pytest.approx(TIMES * 0.001), pytest.approx(TIMES * (0.002 + FOR_NOTHING_SECONDS))]


def test_whoever_wants_a_websocket_is_told_from_others() -> None:
    assert wants_websocket(b"GET /connect/ HTTP/1.1\r\nUpgrade: WebSocket\r\n")
    assert not wants_websocket(b"GET / HTTP/1.1\r\n")


async def test_one_that_fails_keeps_nobody_waiting_and_heads_go_before_bodies(clock: list[float]) -> None:
    turns, begun, done = HttpTurns(), list[str](), asyncio.Event()

    def fail() -> None:
        begun.append("fails")
        raise OSError

    LoopShare().is_here()
    turns.begin(lambda: begun.append("first"))
    clock[0] += 0.001
    with pytest.raises(OSError):
        turns.begin(fail)
    asyncio.get_running_loop().set_exception_handler(lambda *_: None)
    turns.wait(lambda: begun.append("body"), is_body=True)
    turns.wait(done.set, is_body=True)
    turns.wait(fail)
    turns.wait(lambda: begun.append("head"))
    turns.begin(lambda: begun.append("second"))
    await asyncio.wait_for(done.wait(), 10)
    assert begun == ["first", "fails", "second", "fails", "head", "body"]
