-- dead_letters_by_id: dead letters that were chosen one by one, for a dry run.
-- Runs on: the message's primary key.
SELECT m.queue_id, m.sequence, m.index, m.state, m.origin_queue_id
FROM unnest(%(queue_id)b::bigint[], %(sequence)b::bigint[], %(index)b::bigint[]) AS c (queue_id, sequence, index)
JOIN delivery_message m ON m.queue_id = ANY (ARRAY[c.queue_id]) AND m.index = ANY (ARRAY[c.index])
WHERE m.sequence = c.sequence
