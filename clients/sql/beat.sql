-- beat: this node is alive. No row: somebody removed it, and it must join again.
-- Runs on: clients_node's primary key.
UPDATE clients_node SET heartbeat_at = now(), sockets = %(sockets)s, draining = %(draining)s,
    readers = %(readers)s, free_places = %(free_places)s, reading = %(reading)s, alarms = %(alarms)s,
    rates_wanted = %(rates_wanted)s
WHERE id = %(node)s
RETURNING id
