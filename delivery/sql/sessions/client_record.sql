-- client_record: the queues that a client's subscriptions choose now, how far it has come with each, and the indexes
-- that it was sent and has not acknowledged.
-- Runs on: clients_subscription's index on client_id; queue_name_and_tags_digest; clients_position's primary key;
-- one_live_session_per_client; message_index_once_per_queue for streams, message_holder for work queues.
-- Shape: which queues a subscription chooses is said in Python too (delivery/engine/queues.py, `matches`); a test holds the
-- two together.
WITH read AS (
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
    CROSS JOIN LATERAL (SELECT queue_id, index FROM delivery_message WHERE holder = s.id AND state = :CLAIMED OFFSET 0) AS m
    WHERE s.client_id = %(client)s AND s.ended_at IS NULL
)
SELECT r.id AS queue_id, r.name, r.tags, coalesce(p.acked_index, 0) AS acked_index,
       CASE r.kind
           WHEN 'stream' THEN ARRAY(
               SELECT index FROM delivery_message
               WHERE queue_id = r.id AND index > 0 AND index > p.floor_index AND index <= p.delivered_index
               EXCEPT SELECT unnest(p.acked_above)
               ORDER BY index
           )
           ELSE ARRAY(SELECT index FROM held WHERE held.queue_id = r.id ORDER BY index)
       END AS outstanding_index
FROM read r
LEFT JOIN clients_position p ON p.client_id = %(client)s AND p.queue_id = r.id
ORDER BY r.name, r.tags
