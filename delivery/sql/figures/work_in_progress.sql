-- work_in_progress: claims of all queues, the longest held first, with who holds each and when it last gave a sign.
-- Runs on: message_claimed, once for each queue of which somebody holds messages; the primary keys of queues, sessions,
-- keys, clients and nodes.
-- Shape: so many claims are looked at, whatever there are. A keepalive starts the lease again, so its end less its
-- length is the last sign of the holder.
WITH RECURSIVE :QUEUES_WITH_CLAIMS
SELECT m.queue_id, q.name AS queue_name, q.tags AS queue_tags, m.index, m.attempts, m.holder AS session_id,
       c.id AS client_id, coalesce(c.name, kc.name) AS client, s.address, n.name AS node, m.assigned_at,
       m.lease_until, m.work_timeout, m.lease_until - m.work_timeout * interval '1 second' AS sign_at
FROM queues_with_claims w
JOIN queues_queue q ON q.id = w.queue_id
CROSS JOIN LATERAL (
    SELECT queue_id, index, attempts, holder, assigned_at, lease_until, work_timeout FROM delivery_message
    WHERE queue_id = w.queue_id AND lease_until IS NOT NULL ORDER BY holder, lease_until LIMIT %(looked_at)s
) m
LEFT JOIN clients_session s ON s.id = m.holder
LEFT JOIN clients_client c ON c.id = s.client_id
LEFT JOIN clients_key k ON k.id = s.key_id
LEFT JOIN clients_client kc ON kc.id = k.client_id
LEFT JOIN clients_node n ON n.id = s.node_id
WHERE %(name)s::text IS NULL OR q.name = %(name)s::text
ORDER BY m.assigned_at
LIMIT %(most)s
