"""Erasing: nothing personal is left anywhere, everything else is as before, and it is done exactly once."""

from pathlib import Path

import pytest
from psycopg.types.json import Jsonb
from pyspark.sql import SparkSession

from pipeline.commands.erase import _selection, add_arguments
from pipeline.erasing import erasing
from pipeline.erasing.command import erase
from pipeline.erasing.selection import Selection, selection_from
from pipeline.errors import PipelineError
from pipeline.progress import Silent
from tests.pipeline.kit import NOON, YESTERDAY, Ledger, dying, row
from tests.pipeline.test_lake import catalog_of

PERSONAL = "SELECT index, client, error, body, extras FROM willow_journal_v2 ORDER BY index"
TOLD = {"headers": {"customer": "secret"}}
DEAD_LETTER = """
    INSERT INTO delivery_message (queue_id, sequence, index, priority, state, body, headers, group_key, last_client,
                                  last_error, died_at, origin_queue_id, origin_index)
    VALUES (2, %s, %s, 0, 1, 'secret', '{"customer": "secret"}', 'secret', %s, 'secret error',
            now() - interval '1 minute', 1, %s)
"""


@pytest.fixture
def filled(ledger: Ledger, spark: SparkSession) -> Ledger:
    """Archived rows of two days, one that is not archived yet, and two dead letters."""
    ledger.make_day(YESTERDAY.date())
    dead = {"outcome": "dead", "reason": "failed", "error": "secret error", "body": b"secret"}
    ledger.write(row(1, YESTERDAY, client="ann", **dead), row(2, YESTERDAY, client="bob", body=b"kept"))
    ledger.run(spark)
    ledger.write(row(3, YESTERDAY, client="ann", body=b"secret", extras=Jsonb(TOLD)))
    ledger.query(DEAD_LETTER, 1, 1, "ann", 1)
    ledger.query(DEAD_LETTER, 2, 2, "bob", 7)
    return ledger


def bytes_on_disk(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_a_client_is_forgotten_everywhere_and_once_though_each_step_is_killed(
    filled: Ledger, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each time it comes one step further before it is killed again; any run takes it up."""
    for begun, step in enumerate(("redact_journal", "redact_archive", "redact_dead_letters", "close")):
        with monkeypatch.context() as patched, pytest.raises(ConnectionAbortedError):
            patched.setattr(erasing, step, dying)
            if begun:
                filled.run(spark)
            else:
                erase(spark, filled.options, Selection(client="ann"), progress=Silent())
    filled.run(spark)
    [(before, after)] = filled.query("SELECT before, after FROM willow_erasures")
    assert before == {"journal": 2, "archive": 1, "dead letters": 1, "facts": 3}
    assert set(after.values()) == {0}
    assert filled.query(PERSONAL) == [
        (1, None, None, None, None),
        (2, "bob", None, b"kept", None),
        (3, None, None, None, None),
    ]
    read = catalog_of(filled).load_table("willow.journal").scan().to_arrow().to_pylist()
    assert {(row["index"], row["client"], row["body"], row["extras"]) for row in read} == {
        (1, None, None, None), (2, "bob", b"kept", None), (3, None, None, None),
    }  # fmt: skip
    dead_letters = filled.query("SELECT last_client, body, headers, group_key FROM delivery_message")
    assert sorted(dead_letters, key=str) == [
        ("bob", b"secret", {"customer": "secret"}, "secret"),
        (None, b"", None, None),
    ]
    assert filled.query("SELECT DISTINCT client FROM willow_client_facts ORDER BY 1") == [("",), ("bob",)]
    assert filled.query("SELECT DISTINCT example FROM willow_dead_letter_clusters") == [(None,)]
    assert filled.query("SELECT finished, dead FROM willow_queue_facts WHERE grain = 'day'") == [(2, 1)]
    assert b"ann" not in bytes_on_disk(filled.folder / "journal" / "metadata"), "bounds of columns are in the metadata"
    [(state, selection)] = filled.query("SELECT state, selection FROM willow_erasures")
    assert (state, selection) == ("done", {})
    audited = filled.query(
        "SELECT action, target LIKE 'client with the SHA-256 %%', details -> 'after' ->> 'archive'"
        " FROM delivery_auditentry ORDER BY id"
    )
    assert audited == [("begin erasure", True, None), ("erase", True, "0")]
    assert filled.run(spark).rows == 0


@pytest.mark.usefixtures("only_queue_facts")
def test_one_message_or_all_before_a_day_are_erased_and_others_are_not(filled: Ledger, spark: SparkSession) -> None:
    filled.write(row(3, NOON, queue_name="other", body=b"kept"), row(4, NOON, body=b"kept"))
    erase(spark, filled.options, Selection(queue="orders", index=3, tags=("eu",)), progress=Silent())
    bodies = dict(filled.query("SELECT queue_name || index, body FROM willow_journal_v1"))
    assert bodies == {"orders1": b"secret", "orders2": b"kept", "orders3": None, "other3": b"kept", "orders4": b"kept"}
    erase(spark, filled.options, Selection(before=NOON.date()), progress=Silent())
    bodies = dict(filled.query("SELECT queue_name || index, body FROM willow_journal_v1"))
    assert {name for name, body in bodies.items() if body} == {"other3", "orders4"}
    read = catalog_of(filled).load_table("willow.journal").scan().to_arrow().to_pylist()
    assert {row["body"] for row in read} == {None, b"kept"}


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--message", "orders"], "--message is 'orders', but it must be a queue and an index"),
        (["--message", "orders/x"], "must be a queue and an index"),
        (["--client", ""], "--client is empty"),
        (["--client", "ann", "--tags", "a"], "--tags goes with --message only"),
    ],
)
def test_what_cannot_be_meant_is_refused(arguments: list[str], complaint: str) -> None:
    import argparse

    parser = argparse.ArgumentParser()
    add_arguments(parser)
    with pytest.raises(PipelineError, match=complaint):
        _selection(parser.parse_args(arguments))


def test_a_selection_is_read_as_it_was_written() -> None:
    for selection in (
        Selection(client="ann"), Selection(before=NOON.date()), Selection(queue="a/b", index=1, tags=("x", "y")),
        Selection(queue="a", index=1, tags=()),
    ):  # fmt: skip
        said = Jsonb(selection.as_json()).obj
        assert selection_from(said) == selection
