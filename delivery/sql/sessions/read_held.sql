-- read_held: messages that a session holds, whole, as far as it still holds them.
-- Runs on: the message's primary key (IS NOT DISTINCT FROM: see finish.sql).
SELECT m.queue_id, m.sequence, m.index, m.attempts, m.priority, m.body, m.work_timeout, m.headers, m.group_key
FROM unnest(%(queue_id)b::bigint[], %(index)b::bigint[]) AS h (queue_id, index)
JOIN delivery_message m ON m.queue_id = ANY (ARRAY[h.queue_id]) AND m.index = ANY (ARRAY[h.index])
WHERE m.state = :CLAIMED AND m.holder IS NOT DISTINCT FROM %(holder)s
