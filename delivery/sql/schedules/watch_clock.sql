-- watch_clock: a reaper is there, in case a schedule comes due.
-- Runs on: delivery_schedulewatch's primary key; schedule_due.
UPDATE delivery_schedulewatch SET seen_at = coalesce(%(now)s::timestamptz, now())
WHERE id = 1 AND EXISTS (SELECT FROM delivery_schedule WHERE next_due_at IS NOT NULL)
