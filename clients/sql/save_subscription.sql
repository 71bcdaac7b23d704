-- save_subscription: keep a registered client's subscription for when it comes back.
-- Runs on: subscription_label_once_per_client.
INSERT INTO clients_subscription (client_id, label, name, tags, match, in_flight, work_timeout, sync)
VALUES (%(client)s, %(label)s, %(name)s, %(tags)s, %(match)s, %(in_flight)s, %(work_timeout)s, %(sync)s)
ON CONFLICT (client_id, label) DO UPDATE
SET name = EXCLUDED.name, tags = EXCLUDED.tags, match = EXCLUDED.match, in_flight = EXCLUDED.in_flight,
    work_timeout = EXCLUDED.work_timeout, sync = EXCLUDED.sync
