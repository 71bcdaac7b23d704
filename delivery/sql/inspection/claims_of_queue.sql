-- claims_of_queue: who holds messages of a queue, how many, and until when at most.
-- Runs on: message_claimed; the primary keys of clients_session, clients_client and clients_key.
SELECT m.holder, coalesce(c.name, kc.name) AS client, n.name AS node, count(*) AS messages, min(m.lease_until) AS first_ends,
       max(m.lease_until) AS last_ends
FROM (
    SELECT holder, lease_until FROM delivery_message
    WHERE queue_id = %(queue_id)s AND lease_until IS NOT NULL ORDER BY holder, lease_until LIMIT %(limit)s
) m
LEFT JOIN clients_session s ON s.id = m.holder
LEFT JOIN clients_client c ON c.id = s.client_id
LEFT JOIN clients_key k ON k.id = s.key_id
LEFT JOIN clients_client kc ON kc.id = k.client_id
LEFT JOIN clients_node n ON n.id = s.node_id
GROUP BY m.holder, c.name, kc.name, n.name
ORDER BY messages DESC
