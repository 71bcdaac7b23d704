-- post_once_to_one: store a batch of messages at the end of a single queue, of which some have a dedupe text that nobody
-- has posted lately. It is how clients post that may have to repeat themselves, so it is the way of most messages.
-- Runs on: queues_counter's and queues_queue's primary keys; delivery_dedupevalue's primary key.
-- Shape: that of post_to_one.sql. A text that is there already, or comes while this waits for the counter, makes it fail.
WITH :ADVANCED_ONE, placed AS (
    SELECT a.*, c.queue_id, q.kind, c.index_before + a.place AS index,
           CASE WHEN c.are_free AND a.sequence > 0 THEN a.sequence
                WHEN c.are_free THEN c.fresh_offset - a.sequence
                ELSE c.fresh_offset + a.place END AS id,
           CASE WHEN a.index_before = c.index_before AND NOT q.paused THEN a.holder END AS taker,
           coalesce(a.work_timeout, q.heartbeat_timeout) AS lease
    FROM advanced c
    JOIN queues_queue q ON q.id = c.queue_id
    CROSS JOIN unnest(
        %(sequence)b::bigint[], %(priority)b::bigint[], %(body)b::bytea[], %(delay)b::float8[], %(ttl)b::float8[],
        %(key)b::text[], %(poster)b::bigint[], %(label)b::bigint[], %(notify)b::bigint[], %(work_timeout)b::float8[],
        %(holder)b::bigint[], %(index_before)b::bigint[], %(dedupe)b::text[]
    ) WITH ORDINALITY AS a (sequence, priority, body, delay, ttl, key, poster, label, notify, work_timeout, holder,
                            index_before, dedupe, place)
), :REMEMBERED
:STORED
