-- queues_with_claims: the queues of which somebody holds messages, found by one step in message_claimed for each. For what
-- a session holds: that index begins with the queue. The first row is no queue. Needs WITH RECURSIVE.
queues_with_claims (queue_id) AS (
    SELECT 0::bigint
    UNION ALL
    SELECT next.queue_id
    FROM queues_with_claims q
    CROSS JOIN LATERAL (
        SELECT queue_id FROM delivery_message WHERE lease_until IS NOT NULL AND queue_id > q.queue_id
        ORDER BY queue_id, holder, lease_until LIMIT 1
    ) next
)
