-- workers_seen: how long ago a node heard of each of its workers. Those that do not come back are workers no more.
-- Runs on: delivery_worker's primary key.
UPDATE delivery_worker w
SET seen_at = now() - s.silent * interval '1 second', config_version = s.config_version
FROM unnest(%(session)b::bigint[], %(silent)b::float8[], %(config_version)b::text[]) AS s (session, silent, config_version)
WHERE w.session_id = s.session AND w.node_id = %(node)s
RETURNING w.session_id
