-- held_messages: what a session holds, without the bodies, to be sent to its client again (read_held.sql).
-- Runs on: message_claimed, once for each queue of which somebody holds messages; queues_queue's primary key.
-- Shape: sorted after it is read, or the primary key would be walked from end to end for its order.
WITH RECURSIVE :QUEUES_WITH_CLAIMS, held AS MATERIALIZED (
    SELECT m.*
    FROM queues_with_claims q
    CROSS JOIN LATERAL (
        SELECT queue_id, sequence, index, attempts, work_timeout, group_key, :MESSAGE_BYTES AS bytes
        FROM delivery_message
        WHERE queue_id = q.queue_id AND holder = %(holder)s AND lease_until IS NOT NULL ORDER BY lease_until OFFSET 0
    ) m
)
SELECT m.queue_id, q.name AS queue_name, m.sequence, m.index, m.attempts, m.work_timeout, m.group_key, m.bytes
FROM held m JOIN queues_queue q ON q.id = m.queue_id
ORDER BY m.queue_id, m.index
