"""Everything undocumented of psycopg that delivery/storage/psycopg_internals/ depends on."""

import inspect

import psycopg
import pytest
from psycopg import AsyncConnection, generators, waiting
from psycopg.adapt import Transformer

from tests.support.private_attributes import assert_has

SWITCH = "WILLOW_PLAIN_PSYCOPG"


@pytest.mark.parametrize(
    ("owner", "names"),
    [
        (generators, "execute"),
        (waiting, "Ready Wait"),
        (waiting.Wait, "R"),
        (waiting.Ready, "R"),
        (AsyncConnection, "_deallocate cancel_safe close wait"),
        (Transformer, "get_dumper load_rows set_pgresult"),
        (psycopg.pq.PGconn, "send_prepare send_query send_query_prepared socket status transaction_status"),
    ],
)
def test_psycopg_has_what_the_short_way_uses(owner: object, names: str) -> None:
    used_by = "delivery/storage/psycopg_internals/short_way.py"
    assert_has("psycopg", owner, names, used_by=used_by, switch=SWITCH)


def test_a_connection_forgets_what_is_prepared_in_the_same_way() -> None:
    names = psycopg._connection_base.BaseConnection.__init__.__code__.co_names
    assert "_prepared" in names, "psycopg's connections keep what is prepared elsewhere than in `_prepared`."
    assert_has(
        "psycopg",
        psycopg._preparing.PrepareManager,
        "clear",
        used_by="delivery/storage/psycopg_internals/short_way.py",
        switch=SWITCH,
    )


def test_waiting_takes_the_same_arguments() -> None:
    assert list(inspect.signature(AsyncConnection.wait).parameters) == ["self", "gen", "interval", "timeout"]
