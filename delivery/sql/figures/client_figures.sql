-- client_figures: what a list of clients shows beside each: where it is, what it holds, how far it is behind.
-- Runs on: the primary keys of clients, nodes and queues; one_live_session_per_client; message_claimed, once for each client and
-- queue of which somebody holds messages;
-- clients_subscription's and clients_key's indexes on client_id; clients_position's primary key.
WITH RECURSIVE :QUEUES_WITH_CLAIMS
SELECT c.id, s.id AS session_id, n.name AS node, s.connected_at, s.held_until,
       (SELECT count(*) FROM clients_subscription b WHERE b.client_id = c.id) AS subscriptions,
       (SELECT count(*) FROM clients_key k WHERE k.client_id = c.id AND k.revoked_at IS NULL
                                             AND (k.expires_at IS NULL OR k.expires_at > now())) AS valid_keys,
       (SELECT count(*)
        FROM queues_with_claims q
        CROSS JOIN LATERAL (
            SELECT FROM delivery_message
            WHERE queue_id = q.queue_id AND holder = s.id AND lease_until IS NOT NULL ORDER BY lease_until OFFSET 0
        ) m) AS held,
       (SELECT sum(greatest(k.newest_index - p.floor_index - cardinality(p.acked_above), 0))::bigint
        FROM clients_position p JOIN queues_queue q ON q.id = p.queue_id AND q.kind = 'stream'
                               JOIN queues_counter k ON k.queue_id = q.id
        WHERE p.client_id = c.id) AS behind,
       ARRAY(
           SELECT b.name FROM clients_subscription b WHERE b.client_id = c.id
           UNION
           SELECT q.name FROM clients_position p JOIN queues_queue q ON q.id = p.queue_id WHERE p.client_id = c.id
           UNION
           SELECT q.name
           FROM jsonb_array_elements_text(n.reading -> s.id::text) r JOIN queues_queue q ON q.id = r.value::bigint
           UNION
           SELECT q.name
           FROM queues_with_claims w
           CROSS JOIN LATERAL (
               SELECT FROM delivery_message
               WHERE queue_id = w.queue_id AND holder = s.id AND lease_until IS NOT NULL ORDER BY lease_until LIMIT 1
           ) m
           JOIN queues_queue q ON q.id = w.queue_id
           ORDER BY 1 LIMIT %(most)s
       ) AS reads,
       CASE
           WHEN n.name IS NOT NULL THEN now()
           ELSE coalesce(s.orphaned_at, nullif(c.last_seen_at, c.defined_at), s.connected_at)
       END AS seen_at
FROM unnest(%(client_id)s::bigint[]) AS wanted (id)
JOIN clients_client c ON c.id = wanted.id
LEFT JOIN clients_session s ON s.client_id = c.id AND s.ended_at IS NULL
LEFT JOIN clients_node n ON n.id = s.node_id AND n.heartbeat_at > now() - %(lapse)s * interval '1 second'
