-- orphan_sessions: sessions of nodes that have fallen silent. Their clients may come back to any node.
-- Runs on: clients_session's index on node_id.
WITH silent AS (
    SELECT id FROM clients_node
    WHERE heartbeat_at <= coalesce(%(now)s::timestamptz, now()) - %(lapse)s * interval '1 second'
    FOR UPDATE SKIP LOCKED
)
UPDATE clients_session s SET node_id = NULL, orphaned_at = now() FROM silent n WHERE s.node_id = n.id RETURNING s.id
