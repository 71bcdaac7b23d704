-- remembered: the dedupe texts of messages that are stored by the same statement. If one is there already, the statement
-- fails, and its caller looks closer (dedupe_seen.sql).
remembered AS (
    INSERT INTO delivery_dedupevalue (queue_id, value, sequence, index, until)
    SELECT queue_id, dedupe, id, index, now() + %(dedupe_seconds)s * interval '1 second'
    FROM placed WHERE dedupe IS NOT NULL
)
