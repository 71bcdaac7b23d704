-- rates_wanted: what the other living nodes want of the rates of keys.
-- Runs on: clients_node, which has a row for each node.
SELECT rates_wanted FROM clients_node
WHERE id <> %(node)s AND rates_wanted <> '{}' AND heartbeat_at > now() - %(lapse)s * interval '1 second'
