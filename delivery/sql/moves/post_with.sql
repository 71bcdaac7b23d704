-- post_with: store a batch of messages as post.sql does, of which some have headers, a group, a unique text or a known key.
-- Runs on: queues_counter's and queues_queue's primary keys.
-- Shape: that of post.sql. A statement of its own, so that messages without these pay nothing for them.
WITH arriving AS (
    SELECT a.*, row_number() OVER of_queue AS number,
           count(*) FILTER (WHERE a.sequence IS NULL) OVER of_queue AS fresh
    FROM unnest(
        %(queue_id)b::bigint[], %(sequence)b::bigint[], %(former)b::bigint[], %(priority)b::bigint[], %(body)b::bytea[],
        %(delay)b::float8[], %(ttl)b::float8[], %(key)b::text[], %(poster)b::bigint[], %(label)b::bigint[], %(notify)b::bigint[],
        %(work_timeout)b::float8[], %(holder)b::bigint[], %(index_before)b::bigint[],
        %(headers)b::text[], %(group_key)b::text[], %(unique_key)b::text[], %(poster_key)b::bigint[]
    ) WITH ORDINALITY AS a (queue_id, sequence, former, priority, body, delay, ttl, key, poster, label, notify, work_timeout,
                            holder, index_before, headers, group_key, unique_key, poster_key, place)
    WINDOW of_queue AS (PARTITION BY a.queue_id ORDER BY a.place)
), :ADVANCED, :PLACED
INSERT INTO delivery_message (
    queue_id, sequence, index, priority, state, available_at, expires_at, key, body, poster, poster_node, label, notify,
    holder, attempts, assigned_at, work_timeout, lease_until, headers, group_key, unique_key, poster_key
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
    headers::jsonb, group_key, unique_key, poster_key
FROM placed
RETURNING queue_id, sequence, index, holder, work_timeout
