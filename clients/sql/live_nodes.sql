-- live_nodes: the nodes that are alive.
SELECT id FROM clients_node WHERE heartbeat_at > now() - %(lapse)s * interval '1 second'
