-- beat: this node is alive. No row: somebody removed it, and it must join again.
-- Runs on: clients_node's primary key.
-- Shape: what sessions read is long and rarely new, so null leaves it as it is. It does not wait for the disk: a
-- heartbeat that a crash takes back has said nothing about the node, and a slow disk must not make nodes look dead.
UPDATE clients_node SET heartbeat_at = now(), sockets = %(sockets)s, draining = %(draining)s,
    readers = %(readers)s, free_places = %(free_places)s, reading = coalesce(%(reading)s::jsonb, reading),
    alarms = %(alarms)s, rates_wanted = %(rates_wanted)s
WHERE id = %(node)s
RETURNING set_config('synchronous_commit', 'off', true)
