-- groups_held: the groups of messages that somebody is about to end, where the session that holds them does not know them.
-- Runs on: the message's primary key.
SELECT h.place, m.group_key
FROM unnest(%(queue_id)b::bigint[], %(index)b::bigint[]) WITH ORDINALITY AS h (queue_id, index, place)
JOIN delivery_message m ON m.queue_id = ANY (ARRAY[h.queue_id]) AND m.index = ANY (ARRAY[h.index])
