"""The options of DATABASE_URL: those of PostgreSQL's client library, and no others."""

from urllib.parse import urlsplit

import pytest
from psycopg.pq import Conninfo

from willow_site.configuration import load_configuration
from willow_site.database_url import LIBPQ_OPTIONS, database_options
from willow_site.setting_declaration import ConfigurationError

URL = "postgresql://user:hunter2@db.example.org/willow"


def complaint(query: str) -> str:
    with pytest.raises(ConfigurationError) as raised:
        load_configuration({"DATABASE_URL": f"{URL}?{query}", "SECRET_KEY": "k" * 40})
    return str(raised.value)


def test_the_list_is_that_of_the_library() -> None:
    assert {option.keyword.decode() for option in Conninfo.get_defaults()} == LIBPQ_OPTIONS


def test_options_are_read_by_name() -> None:
    query = "connect_timeout=3&application_name=orders&options=-c%20work_mem%3D8MB"
    assert database_options(urlsplit(f"{URL}?{query}")) == {
        "connect_timeout": "3",
        "application_name": "orders",
        "options": "-c work_mem=8MB",
    }


def test_a_misspelt_option_is_named_with_the_closest_one() -> None:
    assert complaint("sslmode=require&conect_timeout=3") == (
        'DATABASE_URL has the option "conect_timeout", but PostgreSQL\'s client library has none of this name; '
        "the closest one is connect_timeout."
    )


@pytest.mark.parametrize("query", ["sslmode", "sslmode="])
def test_an_option_needs_a_value(query: str) -> None:
    assert complaint(query) == 'DATABASE_URL has the option "sslmode" without a value.'
