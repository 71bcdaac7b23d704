-- expired_messages: messages whose time to live ended, locked, for bury.sql in the same transaction.
-- Runs on: message_expiry, once for each queue.
-- Shape: a dead letter queue has nowhere to bury, and streams have retention instead.
SELECT m.queue_id, m.sequence, m.index
FROM queues_queue q
CROSS JOIN LATERAL (
    SELECT queue_id, sequence, index
    FROM delivery_message
    WHERE queue_id = q.id AND expires_at <= coalesce(%(now)s::timestamptz, now())
    ORDER BY expires_at
    LIMIT %(limit)s
    FOR UPDATE SKIP LOCKED
) m
WHERE q.kind = 'work' AND NOT q.name LIKE '%%' || :DEAD_SUFFIX
