-- expired_claims: claims whose time ran out, locked, for retry.sql in the same transaction.
-- Runs on: message_lease, once for each queue.
-- Shape: a claim whose client's node was not heard of since the claim's time ran out is left alone. If the node is
-- dead, its clients had no way to keep their claims; their time starts again when that is noticed
-- (orphan_sessions.sql), when the node is back, or when the client is (resume_session.sql).
SELECT m.queue_id, m.sequence, m.index, m.holder, c.name AS client
FROM queues_queue q
CROSS JOIN LATERAL (
    SELECT queue_id, sequence, index, holder, lease_until
    FROM delivery_message
    WHERE queue_id = q.id AND state = :CLAIMED AND lease_until <= coalesce(%(now)s::timestamptz, now())
    ORDER BY lease_until
    LIMIT %(limit)s
    FOR UPDATE SKIP LOCKED
) m
LEFT JOIN clients_session s ON s.id = m.holder
LEFT JOIN clients_client c ON c.id = s.client_id
LEFT JOIN clients_node n ON n.id = s.node_id
WHERE n.id IS NULL OR n.heartbeat_at > m.lease_until
