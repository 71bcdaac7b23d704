-- refuse_transactional_posts: willow_post refuses while every living node is short of something, and no longer than a
-- node counts as alive without a heartbeat.
-- Runs on: clients_node, which has a row for each node.
-- Shape: a sequence, because the function reads that without a statement, and no transaction holds it.
SELECT setval('delivery_posts_refused_until', CASE WHEN (
    SELECT bool_and(alarms <> '{}') FROM clients_node
    WHERE NOT draining AND heartbeat_at > now() - %(lapse)s * interval '1 second'
) THEN ceil(extract(epoch FROM now()) + %(lapse)s::float8)::bigint ELSE 0 END)
