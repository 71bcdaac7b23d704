-- next_regrouping: a queue whose bound on groups was changed, locked, and how far its groups have been gone through.
-- Runs on: delivery_regrouping as a whole, which is empty most of the time.
SELECT queue_id, after_group FROM delivery_regrouping ORDER BY queue_id LIMIT 1 FOR UPDATE SKIP LOCKED
