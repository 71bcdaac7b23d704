"""The embedded Valkey, which carries wake-ups between processes."""

from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from tests.support.launched_willow import kill
from willow_site.embedded.valkey import ValkeyServer, throwaway_valkey

NO_RETRY = Retry(NoBackoff(), 0)


@pytest.fixture
def server(home: Path) -> Iterator[ValkeyServer]:
    embedded = ValkeyServer(home, ends_with_starter=True)
    embedded.start()
    yield embedded
    embedded.stop()


def process_of(server: ValkeyServer) -> psutil.Process:
    identity = server.running_process()
    assert identity is not None
    return psutil.Process(identity.pid)


def test_a_throwaway_server_is_gone_afterwards() -> None:
    with throwaway_valkey() as url:
        assert redis.Redis.from_url(url).ping()
    with pytest.raises(redis.ConnectionError):
        redis.Redis.from_url(url, retry=NO_RETRY).ping()


def test_the_password_is_needed_and_not_on_the_command_line(server: ValkeyServer) -> None:
    with pytest.raises(redis.AuthenticationError):
        redis.Redis(port=server.port, retry=NO_RETRY).ping()
    assert server.password not in " ".join(process_of(server).cmdline())


def test_a_second_starter_joins_and_the_last_one_stops_it(server: ValkeyServer) -> None:
    second = ValkeyServer(server.folder, ends_with_starter=True)
    assert second.start() == server.url
    assert second.running_process() == server.running_process()
    second.stop()
    assert redis.Redis.from_url(server.url).ping()


def test_a_killed_server_comes_back_at_the_same_address(server: ValkeyServer) -> None:
    url = server.url
    kill(process_of(server))
    assert server.running_process() is None
    assert server.start() == url
    assert redis.Redis.from_url(url).ping()
