"""What the pipeline's tables and the views promise to those who read them."""

import pytest
from django.db import connection

TABLES = (
    "willow_queue_facts",
    "willow_client_facts",
    "willow_node_facts",
    "willow_service_facts",
    "willow_dead_letter_clusters",
    "willow_health_findings",
    "willow_pipeline_runs",
    "willow_pipeline_offset",
    "iceberg_tables",
    "iceberg_namespace_properties",
    "willow_archive_leftovers",
    "willow_archive_days",
    "willow_pending_days",
    "willow_erasures",
)
VIEWS = (
    "willow_journal_v1",
    "willow_queues_v1",
    "willow_clients_v1",
    "willow_nodes_v1",
    "willow_dead_letter_clusters_v1",
)
GENERATED_KEY = "id"  # of the facts' tables: a number without a meaning


def rows(query: str, *parameters: object) -> list[tuple]:
    with connection.cursor() as cursor:
        cursor.execute(query, parameters)
        return cursor.fetchall() if cursor.description else []


@pytest.mark.django_db
@pytest.mark.parametrize("relation", [*TABLES, *VIEWS])
def test_every_relation_and_column_says_what_it_means(relation: str) -> None:
    [(about,)] = rows("SELECT obj_description(%s::regclass)", relation)
    assert about
    silent = rows(
        """SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped
           AND col_description(attrelid, attnum) IS NULL""",
        relation,
    )
    assert [name for (name,) in silent if name != GENERATED_KEY] == []


@pytest.mark.django_db
def test_no_view_reads_the_hot_message_table() -> None:
    reading = rows(
        """SELECT DISTINCT v.relname FROM pg_depend d JOIN pg_rewrite r ON r.oid = d.objid
           JOIN pg_class v ON v.oid = r.ev_class
           WHERE d.refobjid = 'delivery_message'::regclass AND v.relname LIKE 'willow\\_%%'"""
    )
    assert reading == []


@pytest.mark.django_db
def test_clusters_of_several_days_are_one_row_of_the_view() -> None:
    rows(
        """INSERT INTO willow_dead_letter_clusters
               (day, queue_id, queue_name, queue_tags, reason, signature, count, first_seen, last_seen, example)
           VALUES ('2026-01-01', 1, 'orders', '{}', 'failed', 'no #', 2, '2026-01-01Z', '2026-01-01Z', 'no 1'),
                  ('2026-01-02', 1, 'orders', '{eu}', 'failed', 'no #', 3, '2026-01-02Z', '2026-01-02Z', 'no 7')"""
    )
    query = (
        """SELECT queue_name, queue_tags, count, first_seen < last_seen, example FROM willow_dead_letter_clusters_v1"""
    )
    assert rows(query) == [("orders", '["eu"]', 5, True, "no 7")]


@pytest.mark.django_db
def test_rows_of_a_restored_day_count_as_settled_afterwards() -> None:
    rows("TRUNCATE delivery_journal")  # others may have committed some
    rows(
        """INSERT INTO delivery_journal (tx, queue_id, queue_name, queue_tags, index, outcome, attempt, priority,
                                         posted_at, ended_at, size)
           SELECT '99999999999'::xid8, 1, 'orders', '{}', n, 'finished', 1, 0, now(), now(), 0
           FROM generate_series(1, 1000) n"""
    )
    settled = "SELECT count(*) FROM willow_journal_v1 WHERE tx < pg_snapshot_xmin(pg_current_snapshot())"
    assert rows(settled) == [(0,)]
    assert rows("SELECT willow_journal_settle_restored((now() AT TIME ZONE 'UTC')::date)") == [(1000,)]
    assert rows(settled) == [(1000,)]
