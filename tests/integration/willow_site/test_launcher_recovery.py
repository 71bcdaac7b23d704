"""A kill -9 of any part loses nothing that was committed."""

import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.support.launched_willow import (
    PATIENCE,
    LaunchedWillow,
    commit_row,
    committed_rows,
    kill,
)
from willow_site.processes import ProcessIdentity


def test_what_is_killed_while_willow_is_up_is_started_again(home: Path, port: int) -> None:
    with LaunchedWillow(home, port=port).wait_until_ready() as willow:
        commit_row(home, "before")
        kill(willow.process("broker-0"))
        willow.wait_for_line("The broker 0 was killed by SIGKILL and will be restarted")
        kill(willow.process("reaper"))
        willow.wait_for_line("The reaper was killed by SIGKILL and will be restarted")
        kill(willow.postmaster())
        willow.wait_for_line("PostgreSQL had stopped and was restarted")
        commit_row(home, "after")
        assert committed_rows(home) == ["after", "before"]


@pytest.mark.parametrize("parts", [("launcher",), ("launcher", "broker", "postmaster")])
def test_the_next_start_survives_what_was_killed(home: Path, port: int, parts: tuple[str, ...]) -> None:
    willow = LaunchedWillow(home, port=port).wait_until_ready()
    commit_row(home, "kept")
    processes = {
        "launcher": psutil.Process(willow.pid),
        "broker": willow.process("broker-0"),
        "postmaster": willow.postmaster(),
    }
    for part in parts:
        processes[part].kill()
    willow.stop()
    with LaunchedWillow(home, port=port).wait_until_ready():
        assert committed_rows(home) == ["kept"]


def test_orphans_that_hold_the_port_are_ended(home: Path, port: int) -> None:
    """As on a system that does not end a process with its parent."""
    orphan = listener(port)
    (home / "processes").mkdir(parents=True)
    identity = ProcessIdentity.of(orphan.pid)
    assert identity is not None
    identity.write(home / "processes" / "broker-0")
    with LaunchedWillow(home, port=port) as willow:
        willow.wait_for_line("Stopped the broker-0 that a killed launcher had left behind.")
        willow.wait_until_ready()
        assert orphan.wait(PATIENCE) == -signal.SIGTERM


def listener(port: int) -> "subprocess.Popen[bytes]":
    """A process that listens on the port and does nothing else."""
    code = (
        "import signal, socket;"
        f"listening = socket.create_server(('127.0.0.1', {port}));"
        "print('listening', flush=True);"
        "signal.pause()"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"listening\n"
    return process
