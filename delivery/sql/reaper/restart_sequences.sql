-- restart_sequences: empty queues give out their IDs from 1 again.
-- Runs on: queues_counter as a whole, one small row for each queue; the message's primary key, once for each queue.
-- Shape: with its counter locked nothing can be posted to a queue; counters that somebody else holds are left alone. IDs
-- of messages from before, which nodes may remember as free, are not free any more: post.sql goes by `restarted_index`.
WITH idle AS MATERIALIZED (
    SELECT queue_id FROM queues_counter c
    WHERE next_sequence > 1 AND NOT EXISTS (SELECT FROM delivery_message m WHERE m.queue_id = ANY (ARRAY[c.queue_id]))
    ORDER BY queue_id
    LIMIT %(limit)s
    FOR NO KEY UPDATE SKIP LOCKED
), restarted AS (
    UPDATE queues_counter c SET next_sequence = 1, restarted_index = newest_index
    FROM idle i
    WHERE c.queue_id = i.queue_id
      AND NOT EXISTS (SELECT FROM delivery_message m WHERE m.queue_id = ANY (ARRAY[c.queue_id]))
    RETURNING c.queue_id
)
SELECT count(*) FROM restarted
