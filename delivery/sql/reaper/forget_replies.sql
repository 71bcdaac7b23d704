-- forget_replies: replies that were kept as long as their queues said.
-- Runs on: kept_reply_until.
DELETE FROM delivery_keptreply
WHERE (queue_id, index) IN (
    SELECT queue_id, index FROM delivery_keptreply
    WHERE until <= coalesce(%(now)s::timestamptz, now())
    ORDER BY until LIMIT %(limit)s FOR UPDATE SKIP LOCKED
)
