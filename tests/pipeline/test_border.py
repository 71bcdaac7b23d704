"""What comes from PostgreSQL, and goes there, has the shape that both sides agreed on."""

import os
import subprocess
import sys
from typing import Any

import pytest
from django.db import connection
from pyspark.sql import SparkSession

from pipeline import schemas
from pipeline.errors import PipelineError
from pipeline.reading.journal import conformed
from pipeline.writing import tables
from willow_site.project_folder import PROJECT_FOLDER

WRITTEN = [table for table in vars(tables).values() if isinstance(table, tables.Table)]
SPARK_TYPES = {
    "bigint": {"bigint"},
    "integer": {"int"},
    "text": {"string"},
    "character varying": {"string"},
    "jsonb": {"string"},
    "boolean": {"boolean"},
    "double precision": {"double"},
    "timestamp with time zone": {"timestamp"},
    "date": {"date"},
    "ARRAY": {"array<string>"},
    "bytea": {"binary"},
    "xid8": {"bigint"},
}


def columns_of(relation: str) -> dict[str, tuple[str, bool]]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT column_name, data_type, is_nullable FROM information_schema.columns WHERE table_name = %s",
            [relation],
        )
        return {name: (kind, nullable == "YES") for name, kind, nullable in cursor.fetchall()}


@pytest.mark.django_db
@pytest.mark.parametrize("table", WRITTEN, ids=lambda table: table.name)
def test_schemas_and_tables_agree(table: tables.Table) -> None:
    found = columns_of(table.name)
    assert set(table.columns) == set(found) - {"id"}
    for field in table.schema:
        kind, nullable = found[field.name]
        assert field.dataType.simpleString() in SPARK_TYPES[kind], field.name
        assert field.nullable == nullable, field.name


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("view", "schema"), [("willow_journal_v2", schemas.JOURNAL), ("willow_queues_v1", schemas.QUEUES)]
)
def test_schemas_and_views_agree(view: str, schema: Any) -> None:
    found = columns_of(view)
    for field in schema:
        assert field.dataType.simpleString() in SPARK_TYPES[found[field.name][0]], field.name


def test_columns_that_we_do_not_know_are_left_aside_and_missing_optional_ones_are_null(spark: SparkSession) -> None:
    schema = schemas._schema(("id", schemas.LONG), ("error", schemas.TEXT, True))
    [row] = conformed(spark.createDataFrame([(1, "new")], "id bigint, colour string"), schema, "a view").collect()
    assert row.asDict() == {"id": 1, "error": None}


@pytest.mark.parametrize(
    ("found", "complaint"),
    [("error string", "a view has no column id"), ("id string", "The column id of a view is string, but bigint was")],
)
def test_other_shapes_are_refused_by_name(spark: SparkSession, found: str, complaint: str) -> None:
    with pytest.raises(PipelineError, match=complaint):
        conformed(spark.createDataFrame([("x",)], found), schemas._schema(("id", schemas.LONG)), "a view")


def pipeline(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    settings = {"WILLOW_PIPELINE_ARCHIVE": "/nowhere", **environ}
    return subprocess.run(
        [sys.executable, "-m", "pipeline", *arguments],
        cwd=PROJECT_FOLDER,
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("arguments", "environ", "code", "said"),
    [
        ((), {}, 0, "./willow pipeline backfill"),
        (("dance",), {}, 2, "The pipeline has no command dance."),
        (("status", "--since", "x"), {}, 2, "unrecognized arguments"),
        (("run", "--since", "2026-01-02", "--until", "2026-01-01"), {}, 1, "--since 2026-01-02 is after --until"),
        (("run", "--since", "soon"), {}, 2, "'soon' is not a day such as"),
        (("status",), {"WILLOW_PIPELINE_ARCHIVE": ""}, 1, "WILLOW_PIPELINE_ARCHIVE is not set"),
        (("status",), {"DATABASE_URL": "postgresql://nobody@127.0.0.1:1/x"}, 1, "The database cannot be reached"),
    ],
)
def test_commands_answer_misuse_with_a_sentence(
    arguments: tuple[str, ...], environ: dict[str, str], code: int, said: str
) -> None:
    done = pipeline(*arguments, **environ)
    assert (done.returncode, said in done.stdout + done.stderr) == (code, True), done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_status_tells_how_far_the_archive_is(ledger: Any, spark: SparkSession) -> None:
    before = pipeline("status", DATABASE_URL=ledger.url).stdout
    assert "nothing has been archived yet" in before
    ledger.archive(spark)
    after = pipeline("status", DATABASE_URL=ledger.url, WILLOW_PIPELINE_ARCHIVE=str(ledger.folder)).stdout
    assert f"Archive      {ledger.options.archive}" in after
    assert "JDBC driver" in after
