-- drop_subscription: a client no longer reads. Of these queues its position is forgotten, so its next subscription to
-- them is a first one again.
-- Runs on: subscription_label_once_per_client; clients_position's primary key.
WITH dropped AS (
    DELETE FROM clients_subscription
    WHERE client_id = %(client)s AND label IS NOT DISTINCT FROM %(label)s
)
DELETE FROM clients_position WHERE client_id = %(client)s AND queue_id = ANY (%(queue_id)s::bigint[])
