-- hand_claims_over: what a client's earlier session held belongs to its new one, and its time starts again.
-- Runs on: message_claimed, once for each queue of which somebody holds messages; the message's primary key.
-- Shape: locked by ascending index, as restart_leases.sql does it.
WITH RECURSIVE :QUEUES_WITH_CLAIMS, held AS MATERIALIZED (
    SELECT m.queue_id, m.index
    FROM queues_with_claims q
    CROSS JOIN LATERAL (
        SELECT queue_id, index FROM delivery_message
        WHERE queue_id = q.queue_id AND holder = %(from)s AND lease_until IS NOT NULL ORDER BY lease_until OFFSET 0
    ) m
    ORDER BY m.queue_id, m.index
)
UPDATE delivery_message m
SET holder = %(to)s, lease_until = now() + m.work_timeout * interval '1 second'
FROM held h
WHERE m.queue_id = ANY (ARRAY[h.queue_id]) AND m.index = ANY (ARRAY[h.index])
  AND m.state = :CLAIMED AND m.holder IS NOT DISTINCT FROM %(from)s
