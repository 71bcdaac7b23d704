-- client_progress: the queues that a client reads, by its positions and by what its session holds.
-- Runs on: clients_position's primary key; one_live_session_per_client; message_claimed, once for each queue of which
-- somebody holds messages; queues_queue's primary key.
-- Shape: what is outstanding is counted, not listed as in client_record.sql, for there may be a million. It is grouped
-- behind a fence (OFFSET 0), or the message table's primary key would be walked from end to end for its order.
WITH RECURSIVE :QUEUES_WITH_CLAIMS, held AS MATERIALIZED (
    SELECT m.queue_id, count(*) AS messages, min(m.assigned_at) AS since
    FROM clients_session s
    CROSS JOIN queues_with_claims q
    CROSS JOIN LATERAL (
        SELECT queue_id, assigned_at FROM delivery_message
        WHERE queue_id = q.queue_id AND holder = s.id AND lease_until IS NOT NULL ORDER BY lease_until OFFSET 0
    ) AS m
    WHERE s.client_id = %(client)s AND s.ended_at IS NULL
    GROUP BY m.queue_id
), known AS (
    SELECT queue_id FROM clients_position WHERE client_id = %(client)s
    UNION SELECT queue_id FROM held
)
SELECT q.id AS queue_id, q.name, q.tags, q.kind, n.newest_index, coalesce(p.acked_index, 0) AS acked_index,
       CASE q.kind
           WHEN 'stream' THEN greatest(p.delivered_index - p.floor_index - cardinality(p.acked_above), 0)
           ELSE coalesce(held.messages, 0)
       END AS outstanding,
       CASE q.kind
           WHEN 'stream' THEN greatest(n.newest_index - p.floor_index - cardinality(p.acked_above), 0)
       END AS behind,
       held.since AS held_since
FROM known k
JOIN queues_queue q ON q.id = k.queue_id
JOIN queues_counter n ON n.queue_id = k.queue_id
LEFT JOIN held ON held.queue_id = k.queue_id
LEFT JOIN clients_position p ON p.client_id = %(client)s AND p.queue_id = k.queue_id
ORDER BY q.name, q.tags
LIMIT %(limit)s
