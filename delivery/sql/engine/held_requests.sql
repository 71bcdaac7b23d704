-- held_requests: what workers of this node hold, whole; other nodes may have given it to them.
-- Runs on: message_holder, once for each worker; queues_queue's primary key.
SELECT m.holder, m.queue_id, m.sequence, m.index, m.attempts, m.body, m.work_timeout
FROM delivery_worker w
CROSS JOIN LATERAL (
    SELECT * FROM delivery_message
    WHERE holder = w.session_id AND state = :CLAIMED AND queue_id = ANY (w.queue_ids) OFFSET 0
) AS m
WHERE w.session_id = ANY (%(session)s::bigint[])
ORDER BY m.assigned_at, m.index
