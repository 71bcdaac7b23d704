"""The short form of the fuzzer. `./willow fuzz --frames 10000000` is the long one."""

import random
from collections.abc import Iterator

import pytest

from tests.fuzz.codecs import fuzz_codecs
from tests.fuzz.sessions import fuzz_sessions
from tests.support.cluster import Cluster
from tests.support.fixtures import StartCluster, start_cluster

__all__ = ["start_cluster"]

SEED = 20_261_117


@pytest.fixture
def broker(start_cluster: StartCluster) -> Iterator[Cluster]:
    """One of its own: what the fuzzer leaves behind is nobody else's. A traceback in its log fails the test."""
    with start_cluster(reaper=True) as cluster:
        yield cluster


def test_the_codecs_take_everything() -> None:
    assert fuzz_codecs(20_000, random.Random(SEED)) == []


async def test_sessions_outlast_everything_and_disturb_nobody(broker: Cluster) -> None:
    findings = await fuzz_sessions(broker.node.url, 2_000, random.Random(SEED))
    assert findings.faults == []
    assert findings.frames > 500
    assert findings.large > 0
    assert findings.neighbours_rounds > 0
