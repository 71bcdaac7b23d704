-- forget_redriven: what can no longer be undone need not be remembered.
-- Runs on: redriven_of_job; delivery_redrivejob as a whole, because jobs are few.
DELETE FROM delivery_redrivenmessage
WHERE id IN (
    SELECT m.id FROM delivery_redrivejob j JOIN delivery_redrivenmessage m ON m.job_id = j.id
    WHERE j.undo_until <= coalesce(%(now)s::timestamptz, now()) AND j.state IN ('done', 'cancelled', 'undone')
    LIMIT %(limit)s
)
