"""The broker's connections: what the URL of the database says, and what Willow needs."""

import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack

import pytest
from django.db import connections

from delivery.storage.connection import connect
from delivery.storage.statement_connection import StatementConnection

Connect = Callable[[Mapping[str, str]], Awaitable[StatementConnection]]


@pytest.fixture
async def connect_with(transactional_db: None, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Connect]:
    """Connects as if DATABASE_URL had these options."""
    async with AsyncExitStack() as opened:

        async def connect_with(options: Mapping[str, str]) -> StatementConnection:
            monkeypatch.setitem(connections["default"].settings_dict, "OPTIONS", dict(options))
            return await opened.enter_async_context(await connect(application="willow test"))

        yield connect_with


async def setting(connection: StatementConnection, name: str) -> str:
    row = await (await connection.execute("SELECT current_setting(%s)", [name])).fetchone()
    assert row is not None
    return str(row[0])


def socket_option(connection: StatementConnection, level: int, name: int) -> int:
    with socket.fromfd(connection.pgconn.socket, socket.AF_INET, socket.SOCK_STREAM) as its_socket:
        return its_socket.getsockopt(level, name)


async def test_settings_of_the_url_stand_beside_our_own(connect_with: Connect) -> None:
    connection = await connect_with({"options": "-c work_mem=8MB -c enable_seqscan=on -c search_path=public"})
    assert await setting(connection, "work_mem") == "8MB"
    assert await setting(connection, "search_path") == "public"
    assert await setting(connection, "enable_seqscan") == "off"  # the statements are written for that
    assert await setting(connection, "statement_timeout") == "30s"


async def test_a_name_of_the_url_is_added_to_ours(connect_with: Connect) -> None:
    assert await setting(await connect_with({}), "application_name") == "willow test"
    named = await connect_with({"application_name": "orders"})
    assert await setting(named, "application_name") == "willow test (orders)"


async def test_the_time_to_connect_is_the_urls(connect_with: Connect) -> None:
    assert (await connect_with({})).info.get_parameters()["connect_timeout"] == "5"
    assert (await connect_with({"connect_timeout": "3"})).info.get_parameters()["connect_timeout"] == "3"


async def test_columns_are_read_as_utf8_whatever_the_url_says(connect_with: Connect) -> None:
    assert await setting(await connect_with({"client_encoding": "LATIN1"}), "client_encoding") == "UTF8"


async def test_a_server_that_is_cut_off_is_given_up_before_the_statement_timeout(connect_with: Connect) -> None:
    connection = await connect_with({})
    assert socket_option(connection, socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
    idle, between, probes = (
        socket_option(connection, socket.IPPROTO_TCP, name)
        for name in (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT)
    )
    assert idle + between * probes < 30
    assert socket_option(connection, socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) < 30_000


async def test_the_url_may_choose_otherwise(connect_with: Connect) -> None:
    connection = await connect_with({"keepalives_idle": "60", "tcp_user_timeout": "90000"})
    assert socket_option(connection, socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 60
    assert socket_option(connection, socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 90_000
