-- leave_sessions: the node stops, and its clients may go on with their claims elsewhere.
-- Runs on: clients_session's index on node_id.
-- Shape: all that are the node's, for those that are just opening or ending are not in its table of sessions.
UPDATE clients_session SET node_id = NULL, orphaned_at = now() WHERE node_id = %(node)s RETURNING id
