"""Erasing: nothing personal is left anywhere, everything else is as before, and it is done exactly once."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from psycopg.types.json import Jsonb
from pyiceberg.avro.file import AvroFile
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.typedef import Record
from pyspark.sql import SparkSession

from pipeline.beside import Beside
from pipeline.commands.erase import _selection, add_arguments
from pipeline.database import connect
from pipeline.erasing import erasing
from pipeline.erasing.command import erase
from pipeline.erasing.selection import Selection, selection_from
from pipeline.errors import PipelineError
from pipeline.minutes import MinuteFacts
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
REDRIVEN = """
    WITH job AS (
        INSERT INTO delivery_redrivejob (created_by, criteria, bounds, state, total, position, after_index, moved,
                                         skipped, failed, returned, undo_until)
        VALUES ('me', '{}', '[]', 'done', 1, 0, 0, 1, 0, 0, 0, now() + interval '1 hour')
        RETURNING id
    )
    INSERT INTO delivery_redrivenmessage (job_id, queue_id, sequence, index, dead_queue_id, origin_queue_id,
                                          origin_index, reason, error, client)
    SELECT id, 1, 9, 9, 2, 1, 1, 'failed', 'secret error', 'ann' FROM job
"""
LEFTOVERS = "SELECT count(*) FROM pg_tables WHERE tablename LIKE 'willow\\_staging\\_%%'"


@pytest.fixture
def filled(ledger: Ledger, spark: SparkSession) -> Ledger:
    """Archived rows of two days, one that is not archived yet, two dead letters, and one that was redriven."""
    ledger.make_day(YESTERDAY.date())
    dead = {"outcome": "dead", "reason": "failed", "error": "secret error", "body": b"secret"}
    ledger.write(row(1, YESTERDAY, client="ann", **dead), row(2, YESTERDAY, client="bob", body=b"kept"))
    ledger.run(spark)
    ledger.write(row(3, YESTERDAY, client="ann", body=b"secret", extras=Jsonb(TOLD)))
    ledger.query(DEAD_LETTER, 1, 1, "ann", 1)
    ledger.query(DEAD_LETTER, 2, 2, "bob", 7)
    ledger.query(REDRIVEN)
    return ledger


def told_by_metadata(archive: Path) -> str:
    """All that Iceberg's files say about those of the tables, with the bounds of their columns. They are compressed."""
    said = []
    for path in archive.rglob("metadata/*"):
        if path.suffix == ".avro":
            with AvroFile[Record](PyArrowFileIO().new_input(path.as_uri())) as records:
                said += [str(record) for record in records]
        else:
            said.append(path.read_text(errors="replace"))
    return "\n".join(said)


def test_a_client_is_forgotten_everywhere_and_once_though_each_step_is_killed(
    filled: Ledger, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each time it comes one step further before it is killed again; any run takes it up."""
    filled.query("CREATE UNLOGGED TABLE willow_staging_client_facts_now AS SELECT 'ann' AS client")
    for begun, step in enumerate(("redact_journal", "redact_archive", "redact_dead_letters", "close")):
        with monkeypatch.context() as patched, pytest.raises(ConnectionAbortedError):
            patched.setattr(erasing, step, dying)
            if begun:
                filled.run(spark)
            else:
                erase(spark, filled.options, Selection(client="ann"), progress=Silent())
    filled.run(spark)
    [(before, after)] = filled.query("SELECT before, after FROM willow_erasures")
    assert before == {"journal": 2, "archive": 1, "dead letters": 2, "facts": 3}
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
    said = told_by_metadata(filled.folder)
    assert "bob" in said and "ann" not in said and "secret" not in said, "bounds of columns are in the metadata"
    assert filled.query("SELECT client, error, reason FROM delivery_redrivenmessage") == [(None, None, "failed")]
    assert filled.query(LEFTOVERS) == [(0,)]
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


def test_facts_that_follow_computed_before_the_rows_were_archived_are_erased(
    ledger: Ledger, spark: SparkSession
) -> None:
    """The archive never had the client's name, and the client's row is one of many of its day."""
    now = datetime.now(UTC).replace(second=0) - timedelta(minutes=1)
    ledger.make_day(now.date())
    ledger.write(*(row(index, now, client="bob") for index in range(1, 9)))
    ledger.run(spark)
    ledger.write(row(9, now, client="ann"))
    with connect(ledger.url) as connection, MinuteFacts(spark, connection, ledger.options, past=0) as minutes:
        minutes.step(Beside())
    assert ("ann",) in ledger.query("SELECT client FROM willow_client_facts")
    before, after = erase(spark, ledger.options, Selection(client="ann"), progress=Silent())
    assert (before["journal"], before["archive"], set(after.values())) == (1, 0, {0})
    assert ("ann",) not in ledger.query("SELECT client FROM willow_client_facts")


@pytest.mark.usefixtures("only_queue_facts")
def test_a_backfill_finishes_what_a_killed_erasure_left(
    filled: Ledger, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after an erasure that was refused because the offset is that of another database."""
    filled.query("UPDATE willow_pipeline_offset SET database = 'another'")
    with pytest.raises(PipelineError, match="backfill"):
        erase(spark, filled.options, Selection(queue="orders", index=1), progress=Silent())
    filled.backfill(spark)
    assert filled.query("SELECT state, after ->> 'archive' FROM willow_erasures") == [("done", "0")]
    read = catalog_of(filled).load_table("willow.journal").scan().to_arrow().to_pylist()
    assert {(row["index"], row["body"]) for row in read} == {(1, None), (2, b"kept"), (3, b"secret")}


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--message", "orders"], "--message is 'orders', but it must be a queue and an index"),
        (["--message", "orders/x"], "must be a queue and an index"),
        (["--client", ""], "--client is empty"),
        (["--client", "ann", "--tags", "a"], "--tags goes with --message only"),
        (["--before", "2999-01-01"], "--before is 2999-01-01, which is in the future"),
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
