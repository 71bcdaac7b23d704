-- reclaim_sessions: sessions that are live here after all, though a reaper had given this node up. Those that do not
-- come back were taken up elsewhere in the meantime.
-- Runs on: clients_session's primary key.
UPDATE clients_session SET node_id = %(node)s, orphaned_at = NULL
WHERE id = ANY (%(session)s) AND coalesce(node_id, %(node)s) = %(node)s AND ended_at IS NULL
RETURNING id
