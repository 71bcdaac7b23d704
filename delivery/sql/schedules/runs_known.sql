-- runs_known: which of these due times have been posted already. None, unless the database's clock went back.
-- Runs on: run_once_when_due.
SELECT r.schedule_id, r.due_at
FROM unnest(%(schedule_id)s::bigint[], %(due_at)s::timestamptz[]) AS d (schedule_id, due_at)
JOIN delivery_schedulerun r ON r.schedule_id = d.schedule_id AND r.due_at = d.due_at AND NOT r.by_hand
