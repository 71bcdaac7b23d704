"""`./willow fuzz`: the fuzzer at length, on a broker of its own. Any fault is printed, and makes it fail."""

import argparse
import asyncio
import os
import random
import secrets
import tempfile
import time
from pathlib import Path

from tests.fuzz.codecs import fuzz_codecs
from tests.fuzz.sessions import fuzz_sessions
from tests.support.cluster import running_cluster
from tests.support.databases import Databases

PORTION = 100_000  # frames between two lines
SHARE_OF_SESSIONS = 10  # one frame in so many goes through a socket


def main() -> int:
    parser = argparse.ArgumentParser(prog="./willow fuzz", description=__doc__)
    parser.add_argument("--frames", type=int, default=1_000_000, help="how many, of which one in ten in sessions")
    parser.add_argument("--seed", type=int, default=None, help="to have the same frames again")
    options = parser.parse_args()
    seed = secrets.randbelow(2**32) if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    faults = _fuzz_codecs(options.frames - options.frames // SHARE_OF_SESSIONS, random.Random(seed))
    faults += _fuzz_sessions(options.frames // SHARE_OF_SESSIONS, random.Random(seed))
    for fault in faults:
        print(fault)
    print(f"{len(faults)} faults in {options.frames:,} frames", flush=True)
    return 1 if faults else 0


def _fuzz_codecs(frames: int, chance: random.Random) -> list[str]:
    faults: list[str] = []
    began = time.monotonic()
    for done in range(0, frames, PORTION):
        faults += fuzz_codecs(min(PORTION, frames - done), chance)
        seconds = time.monotonic() - began
        print(f"codecs: {min(done + PORTION, frames):,} frames in {seconds:.0f} s, {len(faults)} faults", flush=True)
    return faults


def _fuzz_sessions(frames: int, chance: random.Random) -> list[str]:
    """A traceback in the broker's log is a fault, too: stopping the cluster looks for one."""
    databases, faults = Databases(os.environ["DATABASE_URL"]), list[str]()
    try:
        with tempfile.TemporaryDirectory(prefix="willow-fuzz-") as folder:
            try:
                with running_cluster(databases, Path(folder), reaper=True) as cluster:
                    for done in range(0, frames, PORTION // SHARE_OF_SESSIONS):
                        portion = min(PORTION // SHARE_OF_SESSIONS, frames - done)
                        findings = asyncio.run(fuzz_sessions(cluster.node.url, portion, chance))
                        faults += findings.faults
                        print(f"sessions: {done + portion:,} frames; of the last, {findings}", flush=True)
            except AssertionError as error:
                faults.append(str(error)[-5000:])
    finally:
        databases.drop_template()
    return faults


if __name__ == "__main__":
    raise SystemExit(main())
