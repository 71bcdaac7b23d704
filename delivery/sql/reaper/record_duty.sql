-- record_duty: when the reaper last did a duty, for the console.
-- Runs on: delivery_dutyrun's primary key.
INSERT INTO delivery_dutyrun AS known (duty, ran_at, seconds, handled, handled_total, error)
VALUES (%(duty)s, now(), %(seconds)s, %(handled)s::int, %(handled)s::int, %(error)s)
ON CONFLICT (duty) DO UPDATE
SET ran_at = now(), seconds = EXCLUDED.seconds, handled = EXCLUDED.handled,
    handled_total = known.handled_total + EXCLUDED.handled, error = EXCLUDED.error
