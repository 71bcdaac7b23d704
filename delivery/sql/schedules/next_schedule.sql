-- next_schedule: in how many seconds a schedule is due; none is when all are off or over.
-- Runs on: schedule_due.
SELECT extract(epoch FROM next_due_at - coalesce(%(now)s::timestamptz, now()))::float8 AS seconds
FROM delivery_schedule WHERE next_due_at IS NOT NULL ORDER BY next_due_at LIMIT 1
