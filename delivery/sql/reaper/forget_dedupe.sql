-- forget_dedupe: dedupe texts whose time is over.
-- Runs on: dedupe_until.
DELETE FROM delivery_dedupevalue
WHERE (queue_id, value) IN (
    SELECT queue_id, value FROM delivery_dedupevalue
    WHERE until <= coalesce(%(now)s::timestamptz, now()) ORDER BY until LIMIT %(limit)s FOR UPDATE SKIP LOCKED
)
