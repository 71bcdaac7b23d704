-- restart_leases: the claims of sessions start their time again from zero: for one whose client says so, and for those
-- whose node went away.
-- Runs on: message_claimed, once for each of the queues named here or, with NULL, of which somebody holds messages; the
-- message's primary key.
-- Shape: locked by ascending index, as everybody does who locks several messages: that index gives them in another order.
WITH RECURSIVE :QUEUES_WITH_CLAIMS, looked_at AS (
    SELECT unnest(%(queue_id)s::bigint[]) AS queue_id
    UNION ALL
    SELECT queue_id FROM queues_with_claims WHERE %(queue_id)s::bigint[] IS NULL
), held AS MATERIALIZED (
    SELECT m.queue_id, m.index, s.holder
    FROM looked_at q
    CROSS JOIN unnest(%(holder)s::bigint[]) AS s (holder)
    CROSS JOIN LATERAL (
        SELECT queue_id, index FROM delivery_message
        WHERE queue_id = q.queue_id AND holder = s.holder AND lease_until IS NOT NULL ORDER BY lease_until OFFSET 0
    ) m
    ORDER BY m.queue_id, m.index
)
UPDATE delivery_message m
SET lease_until = now() + m.work_timeout * interval '1 second'
FROM held h
WHERE m.queue_id = ANY (ARRAY[h.queue_id]) AND m.index = ANY (ARRAY[h.index])
  AND m.state = :CLAIMED AND m.holder IS NOT DISTINCT FROM h.holder
