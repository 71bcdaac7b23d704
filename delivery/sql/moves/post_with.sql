-- post_with: store a batch of messages as post.sql does, of which some have headers, a group or a unique text.
-- Runs on: queues_counter's and queues_queue's primary keys.
-- Shape: that of post.sql. A statement of its own, so that messages without these pay nothing for them.
WITH arriving AS (
    SELECT a.*, row_number() OVER of_queue AS number,
           count(*) FILTER (WHERE a.sequence IS NULL) OVER of_queue AS fresh
    FROM unnest(
        %(queue_id)b::bigint[], %(sequence)b::bigint[], %(former)b::bigint[], %(priority)b::bigint[], %(body)b::bytea[],
        %(delay)b::float8[], %(ttl)b::float8[], %(key)b::text[], %(poster)b::bigint[], %(label)b::bigint[], %(notify)b::bigint[],
        %(work_timeout)b::float8[], %(holder)b::bigint[], %(index_before)b::bigint[],
        %(headers)b::text[], %(group_key)b::text[], %(unique_key)b::text[]
    ) WITH ORDINALITY AS a (queue_id, sequence, former, priority, body, delay, ttl, key, poster, label, notify, work_timeout,
                            holder, index_before, headers, group_key, unique_key, place)
    WINDOW of_queue AS (PARTITION BY a.queue_id ORDER BY a.place)
), wanted AS (
    SELECT queue_id, count(*) AS messages, count(*) - count(sequence) AS fresh, min(former) AS oldest
    FROM arriving GROUP BY queue_id
), locked AS MATERIALIZED (
    SELECT queue_id FROM queues_counter WHERE queue_id = ANY (ARRAY(SELECT queue_id FROM wanted))
    ORDER BY queue_id FOR NO KEY UPDATE
), advanced AS (
    UPDATE queues_counter c
    SET newest_index = c.newest_index + w.messages,
        next_sequence = c.next_sequence + CASE WHEN w.oldest > c.restarted_index THEN w.fresh ELSE w.messages END,
        flushed_index = CASE WHEN c.newest_index + w.messages <= c.flushed_index THEN c.flushed_index
                             WHEN set_config('synchronous_commit', 'on', true) = 'on'
                             THEN c.newest_index + w.messages + :INDEXES_AHEAD END
    FROM locked l JOIN wanted w ON w.queue_id = l.queue_id
    WHERE c.queue_id = l.queue_id
    RETURNING c.queue_id, c.newest_index - w.messages AS index_before, w.oldest > c.restarted_index AS are_free,
              c.next_sequence - CASE WHEN w.oldest > c.restarted_index THEN w.fresh ELSE w.messages END - 1 AS fresh_offset
), placed AS (
    SELECT a.*, q.kind, c.index_before + a.number AS index, 
           CASE WHEN c.are_free THEN coalesce(a.sequence, c.fresh_offset + a.fresh)
                ELSE c.fresh_offset + a.number END AS id,
           CASE WHEN a.index_before = c.index_before AND NOT q.paused THEN a.holder END AS taker,
           coalesce(a.work_timeout, q.heartbeat_timeout) AS lease
    FROM arriving a
    JOIN advanced c ON c.queue_id = a.queue_id
    JOIN queues_queue q ON q.id = c.queue_id
)
INSERT INTO delivery_message (
    queue_id, sequence, index, priority, state, available_at, expires_at, key, body, poster, poster_node, label, notify,
    holder, attempts, assigned_at, work_timeout, lease_until, headers, group_key, unique_key
)
SELECT
    queue_id, id, index, priority,
    CASE WHEN kind = 'stream' THEN :RETAINED WHEN delay > 0 THEN :DELAYED WHEN taker IS NOT NULL THEN :CLAIMED
         ELSE :READY END,
    CASE WHEN delay > 0 THEN now() + delay * interval '1 second' END,
    now() + ttl * interval '1 second',
    key, body, poster, %(node)s, label, notify,
    taker,
    CASE WHEN taker IS NULL THEN 0 ELSE 1 END,
    CASE WHEN taker IS NOT NULL THEN now() END,
    CASE WHEN taker IS NOT NULL THEN lease WHEN holder IS NULL THEN work_timeout END,
    CASE WHEN taker IS NOT NULL THEN now() + lease * interval '1 second' END,
    headers::jsonb, group_key, unique_key
FROM placed
RETURNING queue_id, sequence, index, holder, work_timeout
