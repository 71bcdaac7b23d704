"""Reading and checking the environment."""

import dataclasses
import ipaddress
import socket

import pytest

from willow_site.configuration import Configuration, load_configuration
from willow_site.project_folder import PROJECT_FOLDER
from willow_site.setting_declaration import ConfigurationError

REQUIRED = {"DATABASE_URL": "postgresql://user:secret@db.example.org/willow", "SECRET_KEY": "k" * 40}


def load(**variables: str) -> Configuration:
    return load_configuration({**REQUIRED, **variables})


def complaint(**variables: str) -> str:
    with pytest.raises(ConfigurationError) as raised:
        load(**variables)
    return str(raised.value)


def test_defaults_need_only_a_database_and_a_key() -> None:
    configuration = load()
    assert configuration.port == 8080
    assert configuration.redis_url is None
    assert configuration.allowed_hosts == ("localhost", "127.0.0.1", "[::1]")
    assert configuration.auto_define is True
    assert configuration.retry_backoff == 2.0
    assert configuration.max_body_bytes == 16 * 1024 * 1024
    assert configuration.trusted_proxies == ()


def test_values_are_read_with_their_types() -> None:
    configuration = load(
        WILLOW_PORT="9000",
        WILLOW_AUTO_DEFINE="off",
        WILLOW_POLL_SECONDS="0.25",
        WILLOW_ANONYMOUS="NONE",
        WILLOW_TRUSTED_PROXIES="10.0.0.0/8, ::1",
        ALLOWED_HOSTS="a.example.org, .b.example.org",
    )
    assert configuration.port == 9000
    assert configuration.auto_define is False
    assert configuration.poll_seconds == 0.25
    assert configuration.anonymous == "none"
    assert configuration.trusted_proxies == (
        ipaddress.ip_network("10.0.0.0/8"),
        ipaddress.ip_network("::1/128"),
    )
    assert configuration.allowed_hosts == ("a.example.org", ".b.example.org")


def test_an_empty_variable_counts_as_unset() -> None:
    assert load(WILLOW_PORT="", REDIS_URL="") == load()


def test_the_configuration_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        load().port = 1  # type: ignore[misc]


@pytest.mark.parametrize(
    ("variable", "value", "allowed"),
    [
        ("WILLOW_PORT", "eighty", "a whole number from 1 to 65535"),
        ("WILLOW_PORT", "65536", "a whole number from 1 to 65535"),
        ("WILLOW_PORT", "-1", "a whole number from 1 to 65535"),
        ("WILLOW_RETRY_LIMIT", "0", "a whole number from 1 to 1000000"),
        ("WILLOW_RETRY_BACKOFF", "0.5", "a number from 1 to 100"),
        ("WILLOW_RETRY_DELAY", "nan", "a number from 0 to 31536000"),
        ("WILLOW_AUTO_DEFINE", "maybe", "on or off"),
        ("WILLOW_ANONYMOUS", "some", "loopback, all or none"),
        ("WILLOW_LOG_LEVEL", "loud", "debug, info, warning or error"),
        ("WILLOW_NODE_NAME", "two words", "1 to 100 printable ASCII characters without spaces"),
        ("WILLOW_BIND", "localhost", "an IP address of this machine, such as 127.0.0.1 or 0.0.0.0"),
        ("WILLOW_ADVERTISED_URL", "http://x/", "a URL such as wss://broker.example.org/connect/"),
        (
            "WILLOW_TRUSTED_PROXIES",
            "10.0.0.1/8",
            "a comma-separated list of IP addresses and networks, such as 10.0.0.0/8,192.168.1.7",
        ),
        (
            "ALLOWED_HOSTS",
            "http://x",
            "a comma-separated list of host names without ports, such as broker.example.org,localhost",
        ),
        ("WILLOW_NODE_LAPSE", "1", "more than WILLOW_NODE_HEARTBEAT"),
        ("WILLOW_MAX_FRAME_BYTES", "1024", "at least WILLOW_MAX_BODY_BYTES"),
        ("WILLOW_PROCESS_NUMBER", "1", "less than WILLOW_PROCESSES"),
    ],
)
def test_a_wrong_value_is_named_with_what_is_allowed(variable: str, value: str, allowed: str) -> None:
    assert complaint(**{variable: value}) == f'{variable} is "{value}", but it must be {allowed}.'


def test_a_default_that_no_longer_fits_is_named_too() -> None:
    assert complaint(WILLOW_MAX_BODY_BYTES="50000000") == (
        'WILLOW_MAX_FRAME_BYTES is "33554432", but it must be at least WILLOW_MAX_BODY_BYTES.'
    )


def test_the_longest_wait_is_no_shorter_than_the_first() -> None:
    assert complaint(WILLOW_RETRY_DELAY="1", WILLOW_RETRY_DELAY_MAX="0.5") == (
        'WILLOW_RETRY_DELAY_MAX is "0.5", but it must be at least WILLOW_RETRY_DELAY.'
    )


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("DATABASE_URL", "mysql://user:hunter2@host/name"),
        ("DATABASE_URL", "postgresql://user:hunter2@host/"),
        ("DATABASE_URL", "postgresql://user:hunter2@host:port/name"),
        ("REDIS_URL", "http://:hunter2@host"),
        ("SECRET_KEY", "hunter2"),
        ("WILLOW_ADMIN_PASSWORD", "hunter2"),
    ],
)
def test_a_wrong_secret_is_not_shown(variable: str, value: str) -> None:
    sentence = complaint(**{variable: value})
    assert sentence.startswith(f"{variable} is set to a value that is not shown, but it must be ")
    assert "hunter2" not in sentence


@pytest.mark.parametrize("variable", ["DATABASE_URL", "SECRET_KEY"])
def test_a_missing_required_variable_says_where_it_comes_from(variable: str) -> None:
    sentence = complaint(**{variable: ""})
    assert sentence.startswith(f"{variable} is not set. Start Willow with ./willow up, test or manage")


def test_what_is_supplied_later_may_be_missing() -> None:
    configuration = load_configuration(
        {"WILLOW_PROCESSES": "2"}, supplied_later=("DATABASE_URL", "SECRET_KEY", "REDIS_URL")
    )
    assert configuration.database_url == ""


def test_several_processes_need_redis() -> None:
    assert complaint(WILLOW_PROCESSES="2") == ('WILLOW_PROCESSES is "2", but more than one process needs REDIS_URL.')
    assert load(WILLOW_PROCESSES="2", REDIS_URL="redis://127.0.0.1").processes == 2


def test_an_unknown_variable_names_the_closest_known_one() -> None:
    assert complaint(WILLOW_PROT="1") == ("WILLOW_PROT is not a setting of Willow; did you mean WILLOW_PORT?")


def test_nodes_have_a_name_and_an_address_of_their_own() -> None:
    host = socket.gethostname()
    two = {"WILLOW_PROCESSES": "2", "REDIS_URL": "redis://127.0.0.1", "WILLOW_PROCESS_NUMBER": "1"}
    assert load().node_name == f"{host}-8080-0"
    assert load(**two).node_name == f"{host}-8080-1"
    assert load(WILLOW_NODE_NAME="east").node_name == "east"
    assert load(WILLOW_NODE_NAME="east", **two).node_name == "east-1"
    assert load().advertised_url == "ws://127.0.0.1:8080/connect/"
    assert load(WILLOW_BIND="0.0.0.0", WILLOW_PORT="81").advertised_url == f"ws://{host}:81/connect/"
    assert load(WILLOW_BIND="::1").advertised_url == "ws://[::1]:8080/connect/"


def test_a_relative_home_is_meant_from_the_checkout() -> None:
    assert load().home == PROJECT_FOLDER / ".willow"
    assert str(load(WILLOW_HOME="/srv/willow").home) == "/srv/willow"
