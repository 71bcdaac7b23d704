-- join_line: workers said `ready` and stand at the end of their services' lines, in the order in which they are given.
-- Runs on: delivery_worker's primary key; message_claimed for what each still holds.
-- Shape: the caller holds the services locked (lock_services.sql), so that the numbers of turns become visible in
-- their own order. What a worker still holds takes slots; with none free it is in no line.
INSERT INTO delivery_worker AS w (
    session_id, node_id, identity, services, queue_ids, slots, free, waited_since, heartbeat_interval, config_type,
    config_version
)
SELECT r.session_id, %(node)s, r.identity, r.services, r.queue_ids, r.slots, greatest(0, r.slots - held.requests),
       nextval('delivery_worker_turn'), r.heartbeat_interval, r.config_type, r.config_version
FROM jsonb_to_recordset(%(workers)s::jsonb) AS r (
    session_id bigint, identity text, services text[], queue_ids bigint[], slots integer, heartbeat_interval float8,
    config_type text, config_version text
)
CROSS JOIN LATERAL (
    SELECT count(*) AS requests
    FROM unnest(r.queue_ids) AS s (queue_id)
    CROSS JOIN LATERAL (
        SELECT FROM delivery_message
        WHERE queue_id = s.queue_id AND holder = r.session_id AND lease_until IS NOT NULL ORDER BY lease_until OFFSET 0
    ) m
) held
ON CONFLICT (session_id) DO UPDATE
SET node_id = EXCLUDED.node_id, identity = EXCLUDED.identity, services = EXCLUDED.services,
    queue_ids = EXCLUDED.queue_ids, slots = EXCLUDED.slots, free = EXCLUDED.free,
    waited_since = EXCLUDED.waited_since, heartbeat_interval = EXCLUDED.heartbeat_interval, seen_at = now(),
    config_type = EXCLUDED.config_type, config_version = EXCLUDED.config_version
