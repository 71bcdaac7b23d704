-- empty_line: the workers of a node are given nothing more, because it stops or has lost its sockets.
-- Runs on: delivery_worker as a whole; workers are few, and nodes start and stop seldom.
UPDATE delivery_worker SET free = 0 WHERE node_id = %(node)s AND free > 0
