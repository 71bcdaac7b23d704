-- mark_moved: messages that went to another queue still tell the posters that they had, and count for the same key.
-- Runs on: the message's primary key.
UPDATE delivery_message m
SET poster = w.poster, poster_key = w.poster_key, poster_node = w.poster_node, label = w.label, notify = w.notify
FROM unnest(
    %(queue_id)b::bigint[], %(index)b::bigint[], %(poster)b::bigint[], %(poster_key)b::bigint[],
    %(poster_node)b::bigint[], %(label)b::bigint[], %(notify)b::bigint[]
) AS w (queue_id, index, poster, poster_key, poster_node, label, notify)
WHERE m.queue_id = ANY (ARRAY[w.queue_id]) AND m.index = ANY (ARRAY[w.index])
