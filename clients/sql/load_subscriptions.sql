-- load_subscriptions: what a client reads.
SELECT label, name, tags, match, in_flight, work_timeout, sync
FROM clients_subscription WHERE client_id = %(client)s ORDER BY id
