-- queue_subscribers: the registered clients whose subscriptions choose a queue, and whether they are connected.
-- Runs on: clients_subscription as a whole; one_live_session_per_client; message_claimed for what each holds.
-- Shape: which queues a subscription chooses is said as in client_record.sql.
SELECT c.name AS client, s.tags, s.match, s.in_flight, n.name AS node,
       (SELECT count(*) FROM (
            SELECT FROM delivery_message
            WHERE queue_id = q.id AND holder = live.id AND lease_until IS NOT NULL ORDER BY lease_until OFFSET 0
        ) m) AS held
FROM queues_queue q
JOIN clients_subscription s ON s.name = q.name
JOIN clients_client c ON c.id = s.client_id
LEFT JOIN clients_session live ON live.client_id = c.id AND live.ended_at IS NULL
LEFT JOIN clients_node n ON n.id = live.node_id AND n.heartbeat_at > now() - %(lapse)s * interval '1 second'
WHERE q.id = %(queue_id)s
  AND CASE s.match
      WHEN 'all' THEN true
      WHEN 'exact' THEN q.tags @> s.tags AND q.tags <@ s.tags
      WHEN 'strict' THEN q.tags @> s.tags
      ELSE q.tags && s.tags
  END
ORDER BY c.name
LIMIT %(limit)s
