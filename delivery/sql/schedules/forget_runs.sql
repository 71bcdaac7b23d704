-- forget_runs: the oldest runs of schedules, beyond those that are kept.
-- Runs on: runs_of_schedule, from the newest on.
DELETE FROM delivery_schedulerun r
USING unnest(%(schedule_id)s::bigint[]) AS a (schedule_id)
CROSS JOIN LATERAL (
    SELECT id FROM delivery_schedulerun WHERE schedule_id = a.schedule_id ORDER BY id DESC OFFSET %(kept)s LIMIT 1
) last
WHERE r.schedule_id = a.schedule_id AND r.id <= last.id
