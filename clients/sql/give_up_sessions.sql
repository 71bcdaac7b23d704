-- give_up_sessions: sockets dropped while the storage was gone. The reaper fails what these sessions hold as soon as
-- their hold is over, which is at once for those that asked for none (overdue_sessions.sql).
-- Runs on: clients_session's primary key.
-- Shape: a client that has come back meanwhile, here or elsewhere, is left alone.
UPDATE clients_session
SET node_id = NULL, ended_at = NULL, held_until = now() + hold_seconds * interval '1 second'
WHERE id = ANY (%(session)s) AND (node_id IS NULL OR node_id = %(node)s)
