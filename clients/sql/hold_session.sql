-- hold_session: the socket dropped, and its client asked to keep what it holds for a while.
-- Runs on: clients_session's primary key.
UPDATE clients_session
SET node_id = NULL, held_until = now() + hold_seconds * interval '1 second'
WHERE id = %(session)s AND node_id IS NOT DISTINCT FROM %(node)s
