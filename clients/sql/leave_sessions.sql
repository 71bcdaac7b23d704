-- leave_sessions: the node stops and the client may go on with its claims elsewhere.
-- Runs on: clients_session's primary key.
UPDATE clients_session SET node_id = NULL, orphaned_at = now() WHERE id = ANY (%(session)s) AND node_id IS NOT DISTINCT FROM %(node)s
