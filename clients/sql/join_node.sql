-- join_node: this process is a node from now on, or again.
-- Runs on: clients_node_name (unique).
-- Shape: a node that comes back under its old name has lost its sockets: their sessions are orphaned.
WITH me AS (
    INSERT INTO clients_node (name, url) VALUES (%(name)s, %(url)s)
    ON CONFLICT (name) DO UPDATE
    SET url = EXCLUDED.url, started_at = now(), heartbeat_at = now(), draining = false, sockets = 0
    RETURNING id
), orphaned AS (
    UPDATE clients_session s SET node_id = NULL, orphaned_at = now() FROM me WHERE s.node_id = me.id RETURNING s.id
)
SELECT (SELECT id FROM me) AS id, ARRAY(SELECT id FROM orphaned) AS orphans
