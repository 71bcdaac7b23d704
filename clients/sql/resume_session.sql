-- resume_session: take up an identity again, unless it is live on a node that is alive.
-- Runs on: clients_session_token (unique).
-- Shape: one guarded update, so of two sockets that come with one id at the same time one wins. No row: look at
-- find_session.sql for the reason.
UPDATE clients_session s
SET node_id = %(node)s, key_id = %(key)s, connected_at = now(), held_until = NULL, orphaned_at = NULL, ended_at = NULL,
    address = %(address)s, hold_seconds = %(hold)s
WHERE s.token = %(token)s
  AND (SELECT k.client_id FROM clients_key k WHERE k.id = s.key_id) IS NOT DISTINCT FROM %(owner)s::bigint
  AND NOT EXISTS (
      SELECT FROM clients_node n
      WHERE n.id = s.node_id AND n.heartbeat_at > now() - %(lapse)s * interval '1 second'
  )
RETURNING s.id, s.client_id, (SELECT name FROM clients_client c WHERE c.id = s.client_id)
