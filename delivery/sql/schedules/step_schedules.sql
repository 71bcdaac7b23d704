-- step_schedules: the next due times of schedules that the caller has locked.
-- Runs on: delivery_schedule's primary key.
UPDATE delivery_schedule s
SET next_due_at = t.next_due_at
FROM unnest(%(schedule_id)s::bigint[], %(next_due_at)s::timestamptz[]) AS t (schedule_id, next_due_at)
WHERE s.id = t.schedule_id
