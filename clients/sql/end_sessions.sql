-- end_sessions: these sessions are over; their ids stay good for a while, with nothing held.
-- Runs on: clients_session's primary key; clients_client's primary key.
-- Shape: as in end_session.sql.
WITH gone AS (
    SELECT client_id FROM clients_session WHERE id = ANY (%(session)s)
), seen AS (
    UPDATE clients_client SET last_seen_at = now()
    WHERE id IN (
        SELECT c.id FROM clients_client c WHERE c.id IN (SELECT client_id FROM gone) FOR NO KEY UPDATE SKIP LOCKED
    )
)
UPDATE clients_session SET ended_at = now(), held_until = NULL, node_id = NULL, client_id = NULL
WHERE id = ANY (%(session)s)
