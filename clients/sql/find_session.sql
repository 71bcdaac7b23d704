-- find_session: where an identity is, for the answer to a socket that may not have it.
-- Runs on: clients_session_token (unique).
SELECT s.id, n.name AS node, 
       (SELECT k.client_id FROM clients_key k WHERE k.id = s.key_id) IS NOT DISTINCT FROM %(owner)s::bigint AS same_owner
FROM clients_session s LEFT JOIN clients_node n ON n.id = s.node_id
WHERE s.token = %(token)s
