-- forget_nodes: nodes that have been silent for so long that nobody asks for them any more.
DELETE FROM clients_node
WHERE heartbeat_at <= coalesce(%(now)s::timestamptz, now()) - %(seconds)s * interval '1 second'
  AND NOT EXISTS (SELECT FROM clients_session s WHERE s.node_id = clients_node.id)
