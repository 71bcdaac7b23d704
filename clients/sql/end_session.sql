-- end_session: the client has gone. Its id stays good for a while, with nothing held.
-- Runs on: clients_session's primary key; clients_client's primary key.
-- Shape: a client that somebody else is just registering is seen by that, and skipped here.
WITH gone AS (
    SELECT id, client_id FROM clients_session WHERE id = %(session)s AND node_id IS NOT DISTINCT FROM %(node)s
), seen AS (
    UPDATE clients_client SET last_seen_at = now()
    WHERE id IN (
        SELECT c.id FROM clients_client c WHERE c.id IN (SELECT client_id FROM gone) FOR NO KEY UPDATE SKIP LOCKED
    )
)
UPDATE clients_session
SET node_id = NULL, ended_at = now(), held_until = NULL, client_id = NULL
WHERE id = %(session)s AND node_id IS NOT DISTINCT FROM %(node)s
