-- open_session: a new identity, live on this node.
INSERT INTO clients_session (token, node_id, client_id, key_id, address, hold_seconds)
VALUES (%(token)s, %(node)s, %(client)s, %(key)s, %(address)s, %(hold)s)
RETURNING id
