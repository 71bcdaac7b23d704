-- reclaim_sessions: sessions that are live here after all; another reaper had given this node up.
-- Runs on: clients_session's primary key.
UPDATE clients_session SET node_id = %(node)s, orphaned_at = NULL
WHERE id = ANY (%(session)s) AND node_id IS NULL AND ended_at IS NULL
