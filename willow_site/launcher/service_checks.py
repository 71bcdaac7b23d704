"""What `./willow doctor` asks of the configuration and of the servers behind it."""

import ipaddress
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from willow_site.database_url import cannot_be_reached
from willow_site.launcher.findings import Finding, Patient, good, note, wrong
from willow_site.project_folder import PROJECT_FOLDER
from willow_site.request_slots import SLOTS

if TYPE_CHECKING:
    import psycopg

OLDEST_POSTGRES = 150_000  # as server_version_num has it
LARGEST_CLOCK_DIFFERENCE = 2.0  # seconds
BROKER_CONNECTIONS = 7  # of each process: its lanes
REQUEST_CONNECTIONS = SLOTS  # of each process that has answered as many HTTP requests at once
CONNECT_SECONDS = 5


def exposure(patient: Patient) -> Finding:
    """Settings that are each allowed but together open the broker to strangers."""
    configuration = patient.configuration
    if ipaddress.ip_address(configuration.bind).is_loopback:
        return good("The broker listens on this machine only.")
    if configuration.debug:
        return wrong("WILLOW_DEBUG is on and the broker is reachable from outside.", "Turn it off.")
    if configuration.anonymous == "all":
        return note("Anyone who can reach the port may use the broker without a key.", "Set WILLOW_ANONYMOUS.")
    return good("Callers from other machines need a key.")


def redis(patient: Patient) -> Finding:
    url = patient.configuration.redis_url
    if url is None:
        return good("No Redis is configured. One process needs none; for several, Willow runs its own Valkey.")
    from redis import Redis, RedisError  # here, because only this check needs it and it takes its time to load

    parts = urlsplit(url)
    place = parts.netloc.rpartition("@")[2] or parts.path
    try:
        with Redis.from_url(url, socket_connect_timeout=CONNECT_SECONDS, socket_timeout=CONNECT_SECONDS) as client:
            client.ping()
    except (RedisError, OSError, ValueError) as error:
        return wrong(f"Redis at {place} cannot be used: {error}", "Check REDIS_URL, its password and the server.")
    return good(f"Redis at {place} answers, and accepts what REDIS_URL says.")


def database(patient: Patient) -> list[Finding]:
    """Ask the database; `patient.environ` leads to it."""
    import psycopg  # here, because only this check needs it and it takes its time to load

    try:
        connection = psycopg.connect(patient.environ["DATABASE_URL"], connect_timeout=CONNECT_SECONDS)
    except psycopg.Error as error:
        reason = cannot_be_reached(str(error), patient.environ["DATABASE_URL"])
        return [wrong(reason, "Check DATABASE_URL and the server.")]
    with connection:
        return [
            _version(connection),
            _durability(connection),
            _clock_difference(connection),
            _connection_limit(connection, patient),
            _migrations(patient),
        ]


def _shown(connection: "psycopg.Connection[Any]", query: str) -> Any:
    row = connection.execute(query.encode()).fetchone()
    assert row is not None
    return row[0]


def _version(connection: "psycopg.Connection[Any]") -> Finding:
    version = connection.info.server_version
    what = f"PostgreSQL {version // 10000}."
    if version < OLDEST_POSTGRES:
        return wrong(what, f"Willow needs PostgreSQL {OLDEST_POSTGRES // 10000} or newer.")
    return good(what)


def _durability(connection: "psycopg.Connection[Any]") -> Finding:
    for name in ("fsync", "full_page_writes", "synchronous_commit"):
        value = _shown(connection, f"SHOW {name}")
        if value == "off":
            return wrong(f"The database has {name} off: a crash can lose messages.", f"Turn {name} on.")
    return good("The database flushes commits to disk.")


def _clock_difference(connection: "psycopg.Connection[Any]") -> Finding:
    difference = abs(float(_shown(connection, "SELECT extract(epoch FROM clock_timestamp())")) - time.time())
    if difference > LARGEST_CLOCK_DIFFERENCE:
        return note(
            f"The clocks of the database and of this machine differ by {difference:.1f} s.",
            "Synchronise both with a time server.",
        )
    return good("The clocks of the database and of this machine agree.")


def _connection_limit(connection: "psycopg.Connection[Any]", patient: Patient) -> Finding:
    processes = patient.configuration.processes
    allowed = int(_shown(connection, "SHOW max_connections"))
    kept = processes * BROKER_CONNECTIONS
    more = processes * REQUEST_CONNECTIONS
    what = f"The database allows {allowed} connections; this node keeps {kept}, and opens up to {more} more for HTTP."
    if kept + more < allowed:
        return good(what)
    return note(what, "Raise max_connections.") if kept < allowed else wrong(what, "Raise max_connections.")


def _migrations(patient: Patient) -> Finding:
    check = [sys.executable, str(PROJECT_FOLDER / "manage.py"), "migrate", "--check"]
    answer = subprocess.run(check, env=dict(patient.environ), cwd=PROJECT_FOLDER, capture_output=True, check=False)
    if answer.returncode == 0:
        return good("The database schema is up to date.")
    return note("The database schema is not up to date.", "Run `./willow up` or `./willow manage migrate`.")
