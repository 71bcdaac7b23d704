-- end_orphans: sessions whose node died and whose client has not come back for as long as ids are kept.
-- Runs on: clients_session's primary key.
UPDATE clients_session SET ended_at = now(), client_id = NULL
WHERE id IN (
    SELECT id FROM clients_session
    WHERE node_id IS NULL AND ended_at IS NULL
      AND orphaned_at <= coalesce(%(now)s::timestamptz, now()) - %(seconds)s * interval '1 second'
    LIMIT %(limit)s FOR UPDATE SKIP LOCKED
)
