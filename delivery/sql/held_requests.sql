-- held_requests: what workers of this node hold, whole; other nodes may have given it to them.
-- Runs on: message_holder, once for each worker; queues_queue's primary key.
SELECT m.holder, m.queue_id, m.sequence, m.index, m.attempts, m.body, m.work_timeout
FROM delivery_worker w
JOIN delivery_message m ON m.holder = w.session_id AND m.state = 2 AND m.queue_id = ANY (w.queue_ids)
WHERE w.session_id = ANY (%(session)s::bigint[])
ORDER BY m.assigned_at, m.index
