-- overdue_sessions: held sessions whose client did not come back in time, locked.
-- Runs on: session_held.
SELECT s.id, c.name AS client
FROM clients_session s LEFT JOIN clients_client c ON c.id = s.client_id
WHERE s.held_until <= coalesce(%(now)s::timestamptz, now())
ORDER BY s.held_until
LIMIT %(limit)s
FOR UPDATE OF s SKIP LOCKED
