-- nodes_of_keys: on how many nodes each of these keys has connections.
-- Runs on: clients_session's index on key_id.
SELECT s.key_id, count(DISTINCT s.node_id)
FROM clients_session s
WHERE s.key_id = ANY (%(key)s) AND s.node_id IS NOT NULL AND s.ended_at IS NULL
GROUP BY s.key_id
