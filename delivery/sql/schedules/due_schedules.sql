-- due_schedules: schedules whose time has come, and when nobody was there to see it.
-- Runs on: schedule_due.
-- Shape: what another reaper is just posting is skipped; whoever has the row locked posts and steps on in one
-- transaction.
SELECT s.id, s.name, s.queue, s.tags, s.message, s.headers, s.priority, s.ttl, s.unique_key, s.cron, s.time_zone,
       s.every, s.starts_at, s.ends_at, s.missed, s.anchor_at, s.next_due_at, w.away_from, w.away_until,
       coalesce(%(now)s::timestamptz, now()) AS moment
FROM delivery_schedule s LEFT JOIN delivery_schedulewatch w ON w.id = 1
WHERE s.next_due_at <= coalesce(%(now)s::timestamptz, now())
ORDER BY s.next_due_at
LIMIT %(limit)s
FOR UPDATE OF s SKIP LOCKED
