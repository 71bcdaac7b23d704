-- find_unique: the living message of each unique text, if there is one.
-- Runs on: message_unique.
-- Shape: the caller holds the queues locked, so no other post can bring the same text at the same time, on any node. One
-- that is just ending still counts: this post came before its end.
SELECT a.place, m.sequence, m.index
FROM unnest(%(queue_id)b::bigint[], %(unique_key)b::text[]) WITH ORDINALITY AS a (queue_id, unique_key, place)
CROSS JOIN LATERAL (
    SELECT sequence, index FROM delivery_message
    WHERE queue_id = a.queue_id AND unique_key = a.unique_key
    ORDER BY index + 0  -- + 0: lest the planner walk over the primary key for its order
    LIMIT 1
) m
