-- end_sessions: these sessions are over; their ids stay good for a while, with nothing held.
-- Runs on: clients_session's primary key.
UPDATE clients_session SET ended_at = now(), held_until = NULL, node_id = NULL, client_id = NULL
WHERE id = ANY (%(session)s)
