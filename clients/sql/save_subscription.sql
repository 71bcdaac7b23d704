-- save_subscription: keep a registered client's subscription for when it comes back, in place of one that reads the same.
-- Runs on: clients_subscription's index on client_id.
-- Shape: nothing but the client's one live session writes here, so two that are alike never come at the same time.
WITH known AS (
    UPDATE clients_subscription
    SET label = %(label)s, in_flight = %(in_flight)s, work_timeout = %(work_timeout)s, sync = %(sync)s
    WHERE client_id = %(client)s AND name = %(name)s AND tags = %(tags)s::text[] AND match = %(match)s
    RETURNING id
)
INSERT INTO clients_subscription (client_id, label, name, tags, match, in_flight, work_timeout, sync)
SELECT %(client)s, %(label)s, %(name)s, %(tags)s::text[], %(match)s, %(in_flight)s, %(work_timeout)s, %(sync)s
WHERE NOT EXISTS (SELECT FROM known)
