-- replace: posts take the place of waiting messages that find_by_key.sql found; those keep their ID, index and age.
-- Runs on: the message's primary key and queues_queue's.
-- Shape: one of a group that has a bound goes behind the others; the caller notes its groups (touch_groups.sql).
UPDATE delivery_message m
SET priority = w.priority, body = w.body,
    state = CASE WHEN w.delay > 0 THEN :DELAYED WHEN w.group_key IS NULL OR q.group_in_flight IS NULL THEN :READY
                 ELSE :BEHIND END,
    available_at = CASE WHEN w.delay > 0 THEN now() + w.delay * interval '1 second' END,
    expires_at = now() + w.ttl * interval '1 second',
    poster = w.poster, poster_node = %(node)s, label = w.label, notify = w.notify,
    headers = w.headers::jsonb, group_key = w.group_key, unique_key = w.unique_key, poster_key = w.poster_key
FROM unnest(
    %(queue_id)b::bigint[], %(index)b::bigint[], %(priority)b::bigint[], %(body)b::bytea[], %(delay)b::float8[],
    %(ttl)b::float8[], %(poster)b::bigint[], %(label)b::bigint[], %(notify)b::bigint[], %(headers)b::text[],
    %(group_key)b::text[], %(unique_key)b::text[], %(poster_key)b::bigint[]
) AS w (queue_id, index, priority, body, delay, ttl, poster, label, notify, headers, group_key, unique_key, poster_key)
JOIN queues_queue q ON q.id = w.queue_id
WHERE m.queue_id = ANY (ARRAY[w.queue_id]) AND m.index = ANY (ARRAY[w.index])
