-- forget_sessions: identities that ended so long ago that nobody will take them up again.
-- Runs on: session_ended.
DELETE FROM clients_session
WHERE id IN (
    SELECT id FROM clients_session
    WHERE ended_at <= coalesce(%(now)s::timestamptz, now()) - %(seconds)s * interval '1 second'
    ORDER BY ended_at LIMIT %(limit)s FOR UPDATE SKIP LOCKED
)
