-- dead_lately: of each dead letter queue, how many of its newest messages died within so many seconds.
-- Runs on: the message's primary key, from its end, for each queue.
-- Shape: it looks at so many messages of a queue and no further, so that a flood costs no more than a trickle.
SELECT q.queue_id, count(*) FILTER (WHERE newest.died_at > now() - %(seconds)s * interval '1 second') AS died
FROM unnest(%(queue_id)s::bigint[]) AS q (queue_id)
CROSS JOIN LATERAL (
    SELECT died_at FROM delivery_message
    WHERE queue_id = q.queue_id ORDER BY index DESC LIMIT %(most)s
) newest
GROUP BY q.queue_id
