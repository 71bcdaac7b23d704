-- queue_readers: the sessions that wait for a queue's messages or hold some, by node, and the messages that they could
-- still be given.
SELECT n.name AS node, (n.readers ->> %(queue_id)s::text)::int AS readers,
       coalesce((n.free_places ->> %(queue_id)s::text)::int, 0) AS places, n.draining
FROM clients_node n
WHERE n.heartbeat_at > now() - %(lapse)s * interval '1 second' AND n.readers ? %(queue_id)s::text
ORDER BY n.name
