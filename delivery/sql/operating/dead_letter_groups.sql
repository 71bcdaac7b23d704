-- dead_letter_groups: dead letters by queue, reason and error signature.
-- Runs on: the message's primary key, from the newest on, once for each dead letter queue.
-- Shape: of each queue the newest few are looked at, so that a queue with a million of them costs no more;
-- `rows_looked_at` tells the caller that there are more. Many die of the same error, and finding a signature costs more
-- than anything else here: it is done once for each text.
WITH looked AS MATERIALIZED (
    SELECT q.id AS queue_id, q.name AS queue_name, q.tags AS queue_tags, m.*, coalesce(m.last_error, '') AS error
    FROM queues_queue q
    CROSS JOIN LATERAL (
        SELECT index, dead_reason, last_error, last_client, died_at
        FROM delivery_message WHERE queue_id = q.id ORDER BY index DESC LIMIT %(looked_at)s
    ) m
    WHERE q.id = ANY (%(queue_id)s::bigint[])
), signed AS MATERIALIZED (
    SELECT error, willow_error_signature(error) AS signature FROM (SELECT DISTINCT error FROM looked) AS errors
)
SELECT m.queue_id, m.queue_name, m.queue_tags, m.dead_reason AS reason, s.signature, count(*) AS messages,
       min(m.died_at) AS first_died_at, max(m.died_at) AS last_died_at,
       (array_agg(m.last_error ORDER BY m.index DESC))[1] AS last_error,
       (array_agg(m.last_client ORDER BY m.index DESC))[1] AS last_client,
       sum(count(*)) OVER (PARTITION BY m.queue_id) AS rows_looked_at
FROM looked m JOIN signed s ON s.error = m.error
GROUP BY m.queue_id, m.queue_name, m.queue_tags, m.dead_reason, s.signature
ORDER BY messages DESC, m.queue_id
LIMIT %(limit)s
