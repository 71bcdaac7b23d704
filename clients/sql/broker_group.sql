-- broker_group: the nodes that take clients, the least loaded first; of equals this one is first.
SELECT id, name, url FROM clients_node
WHERE heartbeat_at > now() - %(lapse)s * interval '1 second' AND NOT draining
ORDER BY sockets, id <> %(node)s, name
