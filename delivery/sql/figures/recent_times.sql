-- recent_times: how long the messages of a queue waited and were worked on lately, by piece of time.
-- Runs on: delivery_journal_message, from its end.
-- Shape: the newest messages and no more, so that a busy queue costs as little as a quiet one. A message that was
-- retried has several rows; its waiting time is that of each attempt.
SELECT floor(extract(epoch FROM ended_at) / %(slot)s)::bigint AS slot,
       percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM assigned_at - posted_at)) AS wait_p50,
       percentile_cont(0.95) WITHIN GROUP (ORDER BY extract(epoch FROM assigned_at - posted_at)) AS wait_p95,
       percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM ended_at - assigned_at))
           FILTER (WHERE outcome = :FINISHED) AS work_p50,
       percentile_cont(0.95) WITHIN GROUP (ORDER BY extract(epoch FROM ended_at - assigned_at))
           FILTER (WHERE outcome = :FINISHED) AS work_p95
FROM (
    SELECT posted_at, assigned_at, ended_at, outcome FROM delivery_journal
    WHERE queue_id = %(queue_id)s AND ended_at > now() - %(seconds)s * interval '1 second'
    ORDER BY index DESC LIMIT %(most)s
) newest
WHERE assigned_at IS NOT NULL
GROUP BY 1
