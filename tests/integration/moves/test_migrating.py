"""Messages of an installation that was there before they were found by their index."""

from importlib import import_module

import pytest
from django.db import connection

migration = import_module("delivery.migrations.0012_messages_by_index")

FILL = """
    INSERT INTO delivery_message (queue_id, sequence, index, priority, state, attempts, available_at, key, body, poster,
                                  label, notify, holder, assigned_at, work_timeout, lease_until, last_error)
    VALUES (1, 2, 1, 5, 0, 0, NULL, 'k', 'ready', 7, -1, 3, NULL, NULL, NULL, NULL, NULL),
           (1, 1, 2, 0, 2, 1, NULL, NULL, 'claimed', NULL, NULL, 0, 9, now(), 30, now(), 'before'),
           (2, 1, 1, 0, 1, 0, now(), NULL, '', NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL)
"""
# Some of them are of later migrations.
INDEXES = """SELECT indexname FROM pg_indexes
             WHERE tablename = 'delivery_message' AND indexname <> 'message_unique'
               AND indexname <> 'message_of_group' AND indexname NOT LIKE 'message_behind%' ORDER BY 1"""
OPTIONS = "SELECT reloptions FROM pg_class WHERE relname = 'delivery_message'"


@pytest.mark.django_db
def test_messages_are_kept_as_they_are() -> None:
    with connection.cursor() as cursor:

        def rows(query: str) -> list[tuple[object, ...]]:
            cursor.execute(query)
            return cursor.fetchall()

        new_indexes, new_options = rows(INDEXES), rows(OPTIONS)
        cursor.execute("SET LOCAL client_min_messages = error")
        cursor.execute(migration.AS_BEFORE)
        cursor.execute(FILL)
        all_of_them = f"SELECT {migration.COLUMNS} FROM delivery_message ORDER BY queue_id, index"
        before = rows(all_of_them)
        cursor.execute(migration.MADE_ANEW)
        assert len(before) == 3
        assert rows(all_of_them) == before
        assert (rows(INDEXES), rows(OPTIONS)) == (new_indexes, new_options)
