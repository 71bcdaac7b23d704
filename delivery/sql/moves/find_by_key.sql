-- find_by_key: the waiting message of each key, if there is one; it stays locked.
-- Runs on: message_key.
-- Shape: the caller holds the queues locked, so no other post can bring the same key at the same time.
SELECT a.place, m.sequence, m.index, m.group_key
FROM unnest(%(queue_id)b::bigint[], %(key)b::text[]) WITH ORDINALITY AS a (queue_id, key, place)
CROSS JOIN LATERAL (
    SELECT sequence, index, group_key FROM delivery_message
    WHERE queue_id = a.queue_id AND key = a.key AND state IN (:READY, :DELAYED, :BEHIND)
    ORDER BY index + 0 DESC  -- + 0: lest the planner walk over the primary key for its order
    LIMIT 1
    FOR UPDATE SKIP LOCKED
) m
