-- post_to_one: store a batch of messages at the end of a single queue, as post.sql does for many queues. On most brokers
-- most batches are of this kind.
-- Runs on: queues_counter's and queues_queue's primary keys.
-- Shape: nothing has to be grouped or joined, so each message goes from the arrays straight into the table. The caller has
-- counted: `messages`, how many of them get a new ID (`fresh`), and the lowest index that a message with an ID to be used
-- again had (`oldest`). Instead of such an ID, `sequence` says of the first new one -1, of the second -2 and so on.
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
        %(holder)b::bigint[], %(index_before)b::bigint[]
    ) WITH ORDINALITY AS a (sequence, priority, body, delay, ttl, key, poster, label, notify, work_timeout, holder,
                            index_before, place)
)
:STORED
