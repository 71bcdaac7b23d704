-- define_client: a client's record, made if it is new; locked either way. `keyed`: keys belong to it.
-- Runs on: clients_client_name (unique).
-- Shape: the update changes nothing but the time; it makes the row come back, and locks it, when it was there already.
INSERT INTO clients_client AS c (name, persistent) VALUES (%(name)s, %(persistent)s)
ON CONFLICT (name) DO UPDATE SET last_seen_at = now()
RETURNING c.id, c.persistent, c.defined_at, EXISTS (SELECT FROM clients_key k WHERE k.client_id = c.id) AS keyed
