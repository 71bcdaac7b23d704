-- live_counts: how many messages live in each queue, without counting them: those ever posted less those that ended.
-- Runs on: queues_counter's primary key; delivery_endedcount's primary key, once for each queue.
SELECT c.queue_id, c.newest_index - coalesce(e.messages, 0) AS live
FROM queues_counter c
LEFT JOIN LATERAL (
    SELECT sum(messages)::bigint AS messages FROM delivery_endedcount WHERE queue_id = c.queue_id
) e ON true
WHERE c.queue_id = ANY (%(queue_id)s::bigint[])
