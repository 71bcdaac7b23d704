-- forget_sessions: identities that ended so long ago that nobody will take them up again.
-- Runs on: session_ended.
-- Shape: a client is remembered as last seen when its last session ended.
WITH gone AS (
    DELETE FROM clients_session
    WHERE id IN (
        SELECT id FROM clients_session
        WHERE ended_at <= coalesce(%(now)s::timestamptz, now()) - %(seconds)s * interval '1 second'
        ORDER BY ended_at LIMIT %(limit)s FOR UPDATE SKIP LOCKED
    )
    RETURNING client_id, ended_at
), seen AS (
    UPDATE clients_client c SET last_seen_at = g.at
    FROM (SELECT client_id, max(ended_at) AS at FROM gone WHERE client_id IS NOT NULL GROUP BY client_id) g
    WHERE c.id = g.client_id AND c.last_seen_at < g.at
      AND c.id IN (SELECT id FROM clients_client WHERE id IN (SELECT client_id FROM gone) FOR UPDATE SKIP LOCKED)
)
SELECT 1 FROM gone
