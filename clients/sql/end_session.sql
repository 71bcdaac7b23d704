-- end_session: the client has gone. Its id stays good for a while, with nothing held.
-- Runs on: clients_session's primary key.
UPDATE clients_session
SET node_id = NULL, ended_at = now(), held_until = NULL, client_id = NULL
WHERE id = %(session)s AND node_id IS NOT DISTINCT FROM %(node)s
