"""A node that is up: it serves, tells about itself, and keeps others off its home and port."""

import http.cookiejar
import json
import re
import signal
import stat
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin

from tests.support.launched_willow import PATIENCE, LaunchedWillow, free_port, postgres_of, run_willow


@pytest.fixture(scope="module")
def willow(shared_home: Path) -> Iterator[LaunchedWillow]:
    with LaunchedWillow(shared_home, port=free_port()) as launched:
        yield launched.wait_until_ready()


def test_the_first_user_logs_in_with_the_password_that_was_shown(willow: LaunchedWillow) -> None:
    shown = next(line for line in willow.output if line.startswith("The console's first user is admin"))
    password = re.findall(r"password (\S+) \(shown only this once\)", shown)[0]
    kept = willow.home / "first-password"
    assert any(str(kept) in line for line in willow.output)
    assert (kept.read_text(), stat.S_IMODE(kept.stat().st_mode)) == (password + "\n", 0o600)
    cookies = http.cookiejar.CookieJar()
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(cookies))
    browser.open(f"{willow.url}/admin/login/")
    token = next(str(cookie.value) for cookie in cookies if cookie.name == "csrftoken")
    form = {"username": "admin", "password": password, "csrfmiddlewaretoken": token, "next": "/admin/"}
    page = browser.open(f"{willow.url}/admin/login/", urllib.parse.urlencode(form).encode())
    assert page.url == f"{willow.url}/console/"
    assert "Log out" in page.read().decode()


def test_messages_go_to_the_embedded_server_without_tcp(willow: LaunchedWillow) -> None:
    addresses = "SELECT client_addr FROM pg_stat_activity WHERE application_name IN ('willow posts', 'willow claims')"
    with psycopg.connect(postgres_of(willow.home).url) as connection:
        assert connection.execute(addresses).fetchall() == [(None,), (None,)]


def test_whoever_waits_is_told_what_happens(willow: LaunchedWillow) -> None:
    told = [line for line in willow.output if not line.startswith(("20", "The console's", "The password", "  "))]
    assert [line.partition(":")[0] for line in told] == [
        f"Creating a PostgreSQL in {willow.home} (only the first time).",
        "Bringing the database up to date",
        "Starting the broker.",
        "Willow is ready",
    ]
    assert f"console {willow.url}/console/," in told[-1]
    assert any(line.endswith(f"listens at {willow.url}.") for line in willow.output)


@pytest.mark.parametrize(
    ("asked", "reached"),
    [
        ("/", "/admin/login/?next=/console/"),
        ("/admin/", "/admin/login/?next=/console/"),
        ("/api/", "/api/docs"),
        ("/favicon.ico", "/static/console/favicon.svg"),
    ],
)
def test_the_addresses_that_one_tries_first_lead_somewhere(willow: LaunchedWillow, asked: str, reached: str) -> None:
    answer = urllib.request.urlopen(f"{willow.url}{asked}")
    assert (answer.status, answer.url) == (200, f"{willow.url}{reached}")


def test_the_log_of_the_database_is_closed_to_others(willow: LaunchedWillow) -> None:
    """It can quote what is in messages."""
    assert stat.S_IMODE((willow.home / "postgres" / "log").stat().st_mode) == 0o600


def test_static_files_are_served(willow: LaunchedWillow) -> None:
    assert urllib.request.urlopen(f"{willow.url}/static/admin/css/base.css").status == 200


def test_clients_are_greeted(willow: LaunchedWillow) -> None:
    with connect(f"ws://127.0.0.1:{willow.port}/connect/") as client:
        assert json.loads(client.recv(timeout=PATIENCE))["type"] == "hello"


def test_a_frame_beyond_the_limit_is_refused_and_the_connection_goes_on(willow: LaunchedWillow) -> None:
    with connect(f"ws://127.0.0.1:{willow.port}/connect/") as client:
        client.recv(timeout=PATIENCE)
        client.send(bytes(100_000_000))
        assert json.loads(client.recv(timeout=PATIENCE))["code"] == "TooLarge"
        client.send("no command")
        assert json.loads(client.recv(timeout=PATIENCE))["code"] == "BadRequest"


def test_a_page_of_a_strange_site_may_not_connect(willow: LaunchedWillow) -> None:
    with (
        pytest.raises(InvalidStatus),
        connect(f"ws://127.0.0.1:{willow.port}/connect/", origin=Origin("https://elsewhere.example")),
    ):
        raise AssertionError("the handshake must fail")


def test_frames_travel_uncompressed(willow: LaunchedWillow) -> None:
    with connect(f"ws://127.0.0.1:{willow.port}/connect/", compression="deflate") as client:
        assert client.protocol.extensions == []


def test_a_second_launcher_on_the_home_is_told_who_holds_it(willow: LaunchedWillow) -> None:
    second = run_willow("up", "--home", str(willow.home), "--port", str(free_port()))
    assert second.returncode == 1
    assert f"is in use by process {willow.pid} on port {willow.port} since " in second.stderr
    assert second.stderr.count("\n") == 1


@pytest.mark.parametrize("processes", ["1", "2"])
def test_another_home_cannot_have_the_same_port(willow: LaunchedWillow, home: Path, processes: str) -> None:
    other = run_willow("up", "--home", str(home), "--port", str(willow.port), "--processes", processes)
    assert other.returncode == 1
    assert other.stderr == (
        f"Port {willow.port} on 127.0.0.1 is taken by another program; choose one with --port or WILLOW_PORT.\n"
    )


def test_management_commands_work_on_the_same_database(willow: LaunchedWillow) -> None:
    code = "from django.db import connection; print('port', connection.settings_dict['PORT'])"
    answer = run_willow("manage", "--home", str(willow.home), "shell", "--no-imports", "-c", code)
    assert answer.stdout.strip() == f"port {postgres_of(willow.home).port}"
    assert willow.postmaster().is_running()


def test_status_tells_what_runs(willow: LaunchedWillow) -> None:
    answer = run_willow("status", "--home", str(willow.home))
    assert answer.returncode == 0
    assert f"launcher    process {willow.pid} since " in answer.stdout
    assert f"broker-0    process {willow.process('broker-0').pid}" in answer.stdout
    assert f"postgresql  process {willow.postmaster().pid}" in answer.stdout
    assert f"broker      answers at {willow.url}/" in answer.stdout


def test_the_doctor_finds_nothing_wrong(willow: LaunchedWillow) -> None:
    answer = run_willow("doctor", "--home", str(willow.home))
    assert answer.returncode == 0, answer.stdout
    assert "The database schema is up to date." in answer.stdout
    assert f"Port {willow.port} is served by this home's Willow" in answer.stdout


def test_the_database_is_made_for_queues(willow: LaunchedWillow) -> None:
    with psycopg.connect(postgres_of(willow.home).url) as connection:
        for name, value in {
            "data_checksums": "on",
            "password_encryption": "scram-sha-256",
            "listen_addresses": "127.0.0.1",
            "wal_compression": "pglz",
            "autovacuum_naptime": "5s",
            "shared_preload_libraries": "pg_stat_statements",
        }.items():
            assert connection.execute(f"SHOW {name}".encode()).fetchone() == (value,)


def test_ctrl_c_stops_everything(home: Path, port: int) -> None:
    names = {"ALLOWED_HOSTS": "broker.example.org"}
    willow = LaunchedWillow(home, "--processes", "2", port=port, variables=names).wait_until_ready()
    # The launcher's own probe comes under a name that is allowed, and so does who follows its last line.
    assert f"console http://broker.example.org:{port}/console/" in willow.output[-1]
    assert not [line for line in willow.output if "Invalid HTTP_HOST" in line or "Traceback" in line]
    processes = willow.processes()
    assert len(processes) >= 5  # two brokers, a reaper, PostgreSQL, Valkey
    assert willow.stop(signal.SIGINT) == 0
    _, alive = psutil.wait_procs(processes, timeout=PATIENCE)
    assert not alive
    assert run_willow("status", "--home", str(home)).returncode == 1


def test_the_doctor_checks_the_port_that_it_is_asked_about(willow: LaunchedWillow, port: int) -> None:
    answer = run_willow("doctor", "--home", str(willow.home), "--port", str(port))
    assert f"Port {port} on 127.0.0.1 is free." in answer.stdout
