-- metrics_duties: what the reaper's duties did.
-- Runs on: delivery_dutyrun as a whole; it has a row for each duty.
SELECT duty, extract(epoch FROM now() - ran_at)::float8 AS age, seconds, handled_total, error <> '' AS failed
FROM delivery_dutyrun
ORDER BY duty
