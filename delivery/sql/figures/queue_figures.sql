-- queue_figures: every queue with what it holds in which state, how long the oldest claimable message has waited, and
-- how many sessions read it.
-- Runs on: queues_counter, delivery_endedcount, message_claimed, message_delayed, each as a whole; message_ready up to
-- four times for each queue that holds something.
-- Shape: claims are read in the order of their index, or the planner might walk over all messages for their groups.
-- Live messages are known, not counted (see live_counts.sql). Claims go by priority, so the oldest message that
-- may be claimed is either the next one, or the first of the lowest priority, which waits behind all others.
WITH live AS MATERIALIZED (
    SELECT n.queue_id, n.newest_index, n.newest_index - coalesce(e.ended, 0) AS messages
    FROM queues_counter n
    LEFT JOIN (
        SELECT queue_id, sum(messages)::bigint AS ended FROM delivery_endedcount GROUP BY queue_id
    ) e ON e.queue_id = n.queue_id
), claimed AS MATERIALIZED (
    SELECT queue_id, count(*) AS claimed
    FROM (SELECT queue_id FROM delivery_message WHERE lease_until IS NOT NULL ORDER BY queue_id, holder, lease_until OFFSET 0) m
    GROUP BY queue_id
), delayed AS MATERIALIZED (
    SELECT queue_id, count(*) AS delayed FROM delivery_message WHERE state = :DELAYED GROUP BY queue_id
), readers AS MATERIALIZED (
    SELECT r.key::bigint AS queue_id, sum(r.value::int)::int AS readers
    FROM clients_node n CROSS JOIN LATERAL jsonb_each_text(n.readers) r
    WHERE n.heartbeat_at > now() - %(lapse)s * interval '1 second'
    GROUP BY 1
)
SELECT q.id, q.name, q.tags, q.kind, q.paused, q.max_length, l.newest_index, l.messages AS live,
       coalesce(c.claimed, 0) AS claimed, coalesce(d.delayed, 0) AS delayed, coalesce(r.readers, 0) AS consumers,
       extract(epoch FROM now() - least(head.posted_at, tail.posted_at))::float8 AS oldest_age
FROM queues_queue q
JOIN live l ON l.queue_id = q.id
LEFT JOIN claimed c ON c.queue_id = q.id
LEFT JOIN delayed d ON d.queue_id = q.id
LEFT JOIN readers r ON r.queue_id = q.id
LEFT JOIN LATERAL (
    SELECT posted_at FROM delivery_message
    WHERE queue_id = q.id AND state = :READY ORDER BY (priority * -1), index LIMIT 1
) head ON q.kind = 'work' AND l.messages > 0
LEFT JOIN LATERAL (
    SELECT (priority * -1) AS behind FROM delivery_message
    WHERE queue_id = q.id AND state = :READY ORDER BY (priority * -1) DESC, index DESC LIMIT 1
) lowest ON head.posted_at IS NOT NULL
LEFT JOIN LATERAL (
    SELECT posted_at FROM delivery_message
    WHERE queue_id = q.id AND state = :READY AND (priority * -1) = lowest.behind ORDER BY index LIMIT 1
) tail ON lowest.behind IS NOT NULL
ORDER BY q.name, q.tags
