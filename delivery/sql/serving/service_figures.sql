-- service_figures: how the services are doing: requests that wait, are under way, and were answered lately.
-- Runs on: the message's primary key and delivery_journal_message, once for each service.
-- Shape: for the console, at a person's pace; the journal is read within one window of time, so only its last days.
SELECT q.id AS queue_id, live.waiting, live.under_way, ended.answered, ended.median_seconds, ended.slow_seconds
FROM queues_queue q
CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE state <> :CLAIMED) AS waiting, count(*) FILTER (WHERE state = :CLAIMED) AS under_way
    FROM delivery_message WHERE queue_id = q.id
) live
CROSS JOIN LATERAL (
    SELECT count(*) AS answered,
           percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM ended_at - posted_at)) AS median_seconds,
           percentile_cont(0.99) WITHIN GROUP (ORDER BY extract(epoch FROM ended_at - posted_at)) AS slow_seconds
    FROM delivery_journal
    WHERE queue_id = q.id AND outcome = :FINISHED AND ended_at > now() - %(seconds)s * interval '1 second'
) ended
WHERE q.id = ANY (%(queue_id)s::bigint[])
