-- held_requests: what workers of this node hold, whole; other nodes may have given it to them.
-- Runs on: message_claimed, once for each worker and service; queues_queue's primary key.
SELECT m.holder, m.queue_id, m.sequence, m.index, m.attempts, m.body, m.work_timeout
FROM delivery_worker w
CROSS JOIN LATERAL unnest(w.queue_ids) AS s (queue_id)
CROSS JOIN LATERAL (
    SELECT * FROM delivery_message
    WHERE queue_id = s.queue_id AND holder = w.session_id AND lease_until IS NOT NULL ORDER BY lease_until OFFSET 0
) AS m
WHERE w.session_id = ANY (%(session)s::bigint[])
ORDER BY m.assigned_at, m.index
