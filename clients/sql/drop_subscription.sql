-- drop_subscription: a client no longer reads what it subscribed to with this label. Of these queues its position is
-- forgotten, so its next subscription to them is a first one again.
-- Runs on: clients_subscription's index on client_id; clients_position's primary key.
WITH dropped AS (
    DELETE FROM clients_subscription
    WHERE client_id = %(client)s AND label IS NOT DISTINCT FROM %(label)s
)
DELETE FROM clients_position WHERE client_id = %(client)s AND queue_id = ANY (%(queue_id)s::bigint[])
