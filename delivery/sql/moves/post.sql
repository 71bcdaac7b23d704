-- post: store a batch of messages, each at the end of its queue.
-- Runs on: queues_queue's primary key; free_sequences_of_queue.
-- Shape: the queue's row stays locked from here to commit, so indexes become visible in their own order, which is
-- what lets a stream's reader go by "index > position". Rows are locked by ascending number, so that two batches
-- over the same queues cannot deadlock. Freed IDs are taken first, whole rows at a time, and what is left over goes
-- back as one row. Rows come back by (queue_id, index), the order in which they were given for each queue.
-- Positions in arrays instead of joins on them: the planner cannot know how long the arrays are.
-- A message with a `holder` is claimed for it as it is stored, if nobody else has posted to its queue since the caller
-- knew it to be empty: the queue's newest index is still `index_before`.
WITH arriving AS (
    SELECT a.*, row_number() OVER (PARTITION BY a.queue_id ORDER BY a.place) AS number
    FROM unnest(
        %(queue_id)b::bigint[], %(priority)b::bigint[], %(body)b::bytea[], %(delay)b::float8[], %(ttl)b::float8[],
        %(key)b::text[], %(poster)b::bigint[], %(label)b::bigint[], %(notify)b::bigint[],
        %(work_timeout)b::float8[],
        %(holder)b::bigint[], %(index_before)b::bigint[]
    ) WITH ORDINALITY AS a (queue_id, priority, body, delay, ttl, key, poster, label, notify, work_timeout,
                            holder, index_before, place)
), wanted AS (
    SELECT queue_id, count(*) AS messages FROM arriving GROUP BY queue_id
), reclaimed AS (
    DELETE FROM delivery_freesequences
    WHERE id IN (
        SELECT f.id
        FROM wanted w
        CROSS JOIN LATERAL (
            SELECT id FROM delivery_freesequences
            WHERE queue_id = w.queue_id ORDER BY queue_id, id LIMIT 8 FOR UPDATE SKIP LOCKED
        ) f
    )
    RETURNING queue_id, sequences
), spare AS (
    SELECT r.queue_id, array_agg(s.sequence) AS sequences
    FROM reclaimed r CROSS JOIN LATERAL unnest(r.sequences) AS s (sequence)
    GROUP BY r.queue_id
), allotted AS (
    SELECT w.queue_id, w.messages, s.sequences, least(coalesce(cardinality(s.sequences), 0), w.messages) AS reused
    FROM wanted w LEFT JOIN spare s ON s.queue_id = w.queue_id
), locked AS MATERIALIZED (
    SELECT id FROM queues_queue WHERE id = ANY (ARRAY(SELECT queue_id FROM wanted)) ORDER BY id FOR NO KEY UPDATE
), advanced AS (
    UPDATE queues_queue q
    SET newest_index = q.newest_index + a.messages, next_sequence = q.next_sequence + a.messages - a.reused
    FROM locked l JOIN allotted a ON a.queue_id = l.id
    WHERE q.id = l.id
    RETURNING q.id, q.kind, q.paused, q.heartbeat_timeout, a.sequences,
              q.newest_index - a.messages AS index_before, q.next_sequence - a.messages - 1 AS fresh_offset
), returned AS (
    INSERT INTO delivery_freesequences (queue_id, sequences)
    SELECT queue_id, sequences[messages + 1:] FROM allotted WHERE cardinality(sequences) > messages
), placed AS (
    SELECT a.*, q.kind, q.index_before + a.number AS index,
           coalesce(q.sequences[a.number], q.fresh_offset + a.number) AS sequence,
           CASE WHEN a.index_before = q.index_before AND NOT q.paused THEN a.holder END AS taker,
           coalesce(a.work_timeout, q.heartbeat_timeout) AS lease
    FROM arriving a JOIN advanced q ON q.id = a.queue_id
)
INSERT INTO delivery_message (
    queue_id, sequence, index, priority, state, available_at, expires_at, key, body, poster, poster_node, label, notify,
    holder, attempts, assigned_at, work_timeout, lease_until
)
SELECT
    queue_id, sequence, index, priority,
    CASE WHEN kind = 'stream' THEN :RETAINED WHEN delay > 0 THEN :DELAYED WHEN taker IS NOT NULL THEN :CLAIMED
         ELSE :READY END,
    CASE WHEN delay > 0 THEN now() + delay * interval '1 second' END,
    now() + ttl * interval '1 second',
    key, body, poster, %(node)s, label, notify,
    taker,
    CASE WHEN taker IS NULL THEN 0 ELSE 1 END,
    CASE WHEN taker IS NOT NULL THEN now() END,
    CASE WHEN taker IS NOT NULL THEN lease WHEN holder IS NULL THEN work_timeout END,
    CASE WHEN taker IS NOT NULL THEN now() + lease * interval '1 second' END
FROM placed
RETURNING queue_id, sequence, index, holder, work_timeout
