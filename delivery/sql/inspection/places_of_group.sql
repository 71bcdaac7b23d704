-- places_of_group: the messages of a group that have its places, and who holds them.
-- Runs on: message_of_group; the primary keys of clients_session, clients_client and clients_key.
SELECT m.index, m.state, m.attempts, m.assigned_at, m.available_at, m.holder,
       coalesce(c.name, kc.name) AS client, n.name AS node
FROM (
    SELECT * FROM delivery_message
    WHERE queue_id = %(queue_id)s AND group_key = %(group_key)s
      AND state <> :BEHIND AND (state <> :DELAYED OR attempts > 0)
    LIMIT %(limit)s
) m
LEFT JOIN clients_session s ON s.id = m.holder
LEFT JOIN clients_client c ON c.id = s.client_id
LEFT JOIN clients_key k ON k.id = s.key_id
LEFT JOIN clients_client kc ON kc.id = k.client_id
LEFT JOIN clients_node n ON n.id = s.node_id
