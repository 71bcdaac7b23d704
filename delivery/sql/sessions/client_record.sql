-- client_record: the queues that a client's subscriptions choose now, how far it has come with each, and the indexes
-- that it was sent and has not acknowledged.
-- Runs on: clients_subscription's index on client_id; queue_name_and_tags_digest; clients_position's primary key;
-- one_live_session_per_client; the message's primary key for streams, message_claimed for work queues, once for each of them of which somebody
-- holds messages.
-- Shape: which queues a subscription chooses is said in Python too (delivery/engine/queues.py, `matches`); a test holds the
-- two together.
WITH RECURSIVE :QUEUES_WITH_CLAIMS, read AS (
    SELECT DISTINCT q.id, q.name, q.tags, q.kind
    FROM clients_subscription s
    JOIN queues_queue q ON q.name = s.name
    WHERE s.client_id = %(client)s
      AND CASE s.match
          WHEN 'all' THEN true
          WHEN 'exact' THEN q.tags @> s.tags AND q.tags <@ s.tags
          WHEN 'strict' THEN q.tags @> s.tags
          ELSE q.tags && s.tags
      END
), held AS MATERIALIZED (
    SELECT m.queue_id, m.index
    FROM clients_session s
    CROSS JOIN queues_with_claims q
    CROSS JOIN LATERAL (
        SELECT queue_id, index FROM delivery_message
        WHERE queue_id = q.queue_id AND holder = s.id AND lease_until IS NOT NULL ORDER BY lease_until OFFSET 0
    ) AS m
    WHERE s.client_id = %(client)s AND s.ended_at IS NULL
)
SELECT r.id AS queue_id, r.name, r.tags, coalesce(p.acked_index, 0) AS acked_index,
       CASE r.kind
           WHEN 'stream' THEN ARRAY(
               SELECT index FROM delivery_message
               WHERE queue_id = r.id AND index > p.floor_index AND index <= p.delivered_index
               EXCEPT SELECT unnest(p.acked_above)
               ORDER BY index
           )
           ELSE ARRAY(SELECT index FROM held WHERE held.queue_id = r.id ORDER BY index)
       END AS outstanding_index
FROM read r
LEFT JOIN clients_position p ON p.client_id = %(client)s AND p.queue_id = r.id
ORDER BY r.name, r.tags
