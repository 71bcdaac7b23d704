-- journal_day_is_archived: whether every row of a day of the journal is in the pipeline's archive, and was compared.
-- Runs on: the index on tx of the day's partition; willow_archive_days' primary key.
-- Shape: the comparison covered all transactions before verified_tx, so one row at or after it is one too many. A day
-- that was never compared may go only if it is empty.
SELECT NOT EXISTS (
    SELECT FROM delivery_journal
    WHERE ended_at >= %(day)s::date::timestamp AT TIME ZONE 'UTC'
      AND ended_at < (%(day)s::date + 1)::timestamp AT TIME ZONE 'UTC'
      AND tx >= coalesce((SELECT verified_tx FROM willow_archive_days WHERE day = %(day)s::date), 0)::text::xid8
)
