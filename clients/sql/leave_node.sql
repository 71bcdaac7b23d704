-- leave_node: a node that stopped in order is forgotten at once.
-- Runs on: clients_node's primary key.
DELETE FROM clients_node WHERE id = %(node)s
