"""The embedded PostgreSQL: one server per folder, whoever starts it and whatever was killed."""

import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest

from tests.support.launched_willow import PATIENCE, kill
from willow_site.embedded.account import account_of
from willow_site.embedded.postgres import PostgresServer, throwaway_postgres
from willow_site.processes import wait_until
from willow_site.project_folder import PROJECT_FOLDER

STARTERS = 4
SESSION_REMAINS = "pre-existing shared memory block"


@pytest.fixture
def server(home: Path) -> Iterator[PostgresServer]:
    embedded = PostgresServer(home, ends_with_starter=True)
    embedded.start()
    yield embedded
    embedded.stop()


def process_of(server: PostgresServer) -> psutil.Process:
    identity = server.running_process()
    assert identity is not None
    return psutil.Process(identity.pid)


def answer(url: str) -> int:
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT 1").fetchone()
        assert row is not None
        return int(row[0])


def test_a_throwaway_server_is_durable_and_leaves_nothing() -> None:
    with throwaway_postgres() as url, psycopg.connect(url) as connection:
        assert connection.execute("SHOW fsync").fetchone() == ("on",)
        row = connection.execute("SHOW data_directory").fetchone()
        assert row is not None
        data = Path(row[0])
        assert data.exists()
    assert not data.exists()
    assert not data.parent.exists()


def test_the_socket_is_beside_the_data_and_needs_the_password_too(server: PostgresServer) -> None:
    folder = server.socket_folder
    assert folder == str(server.data)
    own = {"host": folder, "port": server.port, "user": "willow", "dbname": "willow"}
    with psycopg.connect(**own, password=server.password) as connection:
        assert connection.execute("SELECT inet_server_addr()").fetchone() == (None,)
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(**own, password="guessed")


def test_in_a_path_that_is_too_long_for_a_socket_there_is_tcp(home: Path) -> None:
    folder = home / ("long" * 30)
    folder.mkdir(parents=True)
    server = PostgresServer(folder, ends_with_starter=True)
    try:
        assert answer(server.start()) == 1
        assert server.socket_folder is None
    finally:
        server.stop()


def test_the_password_is_needed_and_kept_from_others(server: PostgresServer) -> None:
    password_file = server.folder / "password"
    assert password_file.stat().st_mode & 0o077 == 0
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(server.url.replace(server.password, "guessed"))


def test_simultaneous_starters_get_one_server(home: Path) -> None:
    code = (
        "import sys; from pathlib import Path;"
        "from willow_site.embedded.postgres import PostgresServer;"
        "server = PostgresServer(Path(sys.argv[1]), ends_with_starter=False); server.start();"
        "print(server.running_process().pid, flush=True); sys.stdin.read(); server.stop()"
    )
    starters = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(home)],
            cwd=PROJECT_FOLDER,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(STARTERS)
    ]
    pids = {starter.stdout.readline() for starter in starters if starter.stdout}
    assert len(pids) == 1
    postmaster = psutil.Process(int(pids.pop()))
    for starter in starters[1:]:
        starter.communicate(timeout=PATIENCE)
    assert postmaster.is_running()  # the first one still uses it
    starters[0].communicate(timeout=PATIENCE)
    _, alive = psutil.wait_procs([postmaster], timeout=PATIENCE)
    assert not alive


def test_a_killed_server_comes_back_at_the_same_address(server: PostgresServer) -> None:
    url = server.url
    kill(process_of(server))
    assert server.running_process() is None
    assert server.start() == url
    assert answer(url) == 1


def test_it_moves_when_its_port_was_taken_meanwhile(server: PostgresServer) -> None:
    port = server.port
    server.stop()
    with socket.create_server(("127.0.0.1", port)):
        server.start()
        assert server.port != port
        assert answer(server.url) == 1


def test_a_stale_file_that_names_a_stranger_is_no_obstacle(server: PostgresServer) -> None:
    pid_file = server.data / "postmaster.pid"
    lines = pid_file.read_text().splitlines()
    kill(process_of(server))
    # Of the same account, since PostgreSQL looks past processes of others.
    owner = account_of(server.data.stat().st_uid)
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, **owner.popen_arguments()) as stranger:
        pid_file.write_text("\n".join([str(stranger.pid), *lines[1:]]) + "\n")
        assert answer(server.start()) == 1
        assert stranger.poll() is None


def test_no_second_server_runs_beside_the_remains_of_a_killed_one(server: PostgresServer) -> None:
    """A session that outlives its killed server holds the next start up until it has ended."""
    with psycopg.connect(server.url) as connection:
        session = psutil.Process(connection.info.backend_pid)
        session.suspend()
        kill(process_of(server))
        # Not ending with its starter, which here is only a thread.
        successor = PostgresServer(server.folder, ends_with_starter=False)
        starter = threading.Thread(target=successor.start)
        starter.start()
        assert wait_until(lambda: SESSION_REMAINS in server.log_file.read_text(), PATIENCE)
        session.kill()
        starter.join(PATIENCE)
    assert answer(successor.url) == 1
    successor.stop()


def test_an_interrupted_first_start_is_made_good(home: Path) -> None:
    unfinished = home / "data.unfinished"
    unfinished.mkdir(parents=True)
    (unfinished / "PG_VERSION").write_text("18")
    server = PostgresServer(home, ends_with_starter=True)
    try:
        assert answer(server.start()) == 1
        assert not unfinished.exists()
    finally:
        server.stop()
