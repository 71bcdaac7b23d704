-- define_client: a client's record, made if it is new; locked either way. `keyed`: keys belong to it.
-- Runs on: clients_client_name (unique).
-- Shape: the update makes the row come back, and locks it, when it was there already. The first who registers a name
-- owns it from then on.
INSERT INTO clients_client AS c (name, persistent, owner_id, bound)
VALUES (%(name)s, %(persistent)s, %(owner)s::bigint, true)
ON CONFLICT (name) DO UPDATE SET last_seen_at = now(), bound = true,
    owner_id = CASE WHEN c.bound THEN c.owner_id ELSE EXCLUDED.owner_id END
RETURNING c.id, c.persistent, c.defined_at, EXISTS (SELECT FROM clients_key k WHERE k.client_id = c.id) AS keyed,
    c.xmax = 0 AS is_new, c.owner_id IS NOT DISTINCT FROM %(owner)s::bigint AS owned
