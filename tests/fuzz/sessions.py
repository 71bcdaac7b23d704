"""Whole sessions of damaged frames against a real broker, beside a client that behaves well."""

import asyncio
import random
import uuid
from dataclasses import dataclass, field

from websockets.exceptions import ConnectionClosed

from tests.fuzz.mutations import mutated, mutated_large
from tests.fuzz.seeds import BINCODE, BINCODE_OF_CLIENTS, JSON, JSON_OF_CLIENTS, LARGE_QUEUE, large_frame
from tests.support.client import Client, connected
from tests.support.cluster import PATIENCE

FRAMES_OF_A_SESSION = 200
FRAMES_OF_A_PROOF = 20
WORKERS = 0.1  # of the sessions also say what workers say
LARGE = 1 / 300  # of the frames are decoded in the process for large ones
SESSIONS_AT_ONCE = 8
PROOF = 2**60  # labels above this are the fuzzer's own
# How the broker may end a connection that deserves it: it has said why, in a frame or by the code.
FAIR_CODES = (1002, 1003, 1007, 1009)
OUR_OWN_CODES = range(4000, 5000)


@dataclass
class Findings:
    faults: list[str] = field(default_factory=list)
    frames: int = 0  # after which the connection was still there
    large: int = 0  # of those that were sent
    sessions: int = 0
    closed: int = 0  # by the broker, with a reason
    neighbours_rounds: int = 0


async def fuzz_sessions(url: str, frames: int, chance: random.Random) -> Findings:
    findings, over = Findings(), asyncio.Event()
    async with connected(url) as client:
        await client.send(LARGE_QUEUE)
        await client.expect(LARGE_QUEUE["label"], type="queue")
    neighbour = asyncio.create_task(_behave_well(url, findings, over))
    seeds = [chance.randrange(2**63) for _ in range(0, frames, FRAMES_OF_A_SESSION)]
    places = asyncio.Semaphore(SESSIONS_AT_ONCE)

    async def one(seed: int) -> None:
        async with places:
            count = min(FRAMES_OF_A_SESSION, frames)
            if (fault := await _session(url, count, random.Random(seed), findings)) is not None:
                findings.faults.append(f"session {seed}: {fault}")

    await asyncio.gather(*map(one, seeds))
    over.set()
    await neighbour
    return findings


async def _session(url: str, frames: int, chance: random.Random, findings: Findings) -> str | None:
    """Damaged and whole frames in turn. Now and then the connection must prove that it is there."""
    how = {name: "true" for name in ("batch", "binary", "extras") if chance.random() < 0.3}
    seeds = (JSON, BINCODE) if chance.random() < WORKERS else (JSON_OF_CLIENTS, BINCODE_OF_CLIENTS)
    findings.sessions += 1
    async with connected(url, **how) as client:
        for _ in range(0, frames, FRAMES_OF_A_PROOF):
            try:
                for _ in range(FRAMES_OF_A_PROOF):
                    await client.socket.send(_frame(chance, *seeds, findings))
                await client.send({"type": "keepalive", "label": (label := PROOF + chance.randrange(2**59))})
                await client.expect(label, type="notice", notice="keepalive")
            except (AssertionError, ConnectionClosed) as silence:
                return _fault_in_the_end(client, repr(silence), findings)
            findings.frames += FRAMES_OF_A_PROOF
    return None


def _frame(chance: random.Random, json: list[bytes], binary: list[bytes], findings: Findings) -> str | bytes:
    damages, is_json = chance.random() < 0.7, chance.random() < 0.5
    seeds = json if is_json else binary
    if chance.random() < LARGE:
        findings.large += 1
        data = large_frame(chance, is_json=is_json)
        data = mutated_large(chance, data, seeds) if damages else data
    else:
        data = mutated(chance, seeds) if damages else chance.choice(seeds)
    return data.decode(errors="replace") if is_json else data


def _fault_in_the_end(client: Client, silence: str, findings: Findings) -> str | None:
    code = client.socket.close_code
    if code is None:
        return f"an open connection does not answer: {silence}"
    if code not in OUR_OWN_CODES and code not in FAIR_CODES:
        return f"closed by {code} without a reason"
    findings.closed += 1
    return None


async def _behave_well(url: str, findings: Findings, over: asyncio.Event) -> None:
    """Post, fetch and finish all the while: every answer is the right one, whatever others do."""
    queue = f"neighbour-{uuid.uuid4().hex}"
    try:
        async with asyncio.timeout(None), connected(url) as client:
            while not over.is_set():
                body = uuid.uuid4().hex
                async with asyncio.timeout(PATIENCE):
                    await client.post(queue, body)
                    message = await client.fetch(queue)
                    assert message["body"] == body, message
                    await client.finish(message)
                findings.neighbours_rounds += 1
    except Exception as error:
        findings.faults.append(f"a client that behaves well was disturbed: {error!r}")
