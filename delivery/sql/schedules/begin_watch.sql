-- begin_watch: a reaper has come. If none was there for longer than a change of reapers takes, what was due was missed.
-- Runs on: delivery_schedulewatch's primary key.
INSERT INTO delivery_schedulewatch AS known (id, seen_at) VALUES (1, coalesce(%(now)s::timestamptz, now()))
ON CONFLICT (id) DO UPDATE SET
    seen_at = EXCLUDED.seen_at,
    away_from = CASE WHEN EXCLUDED.seen_at - known.seen_at > %(away)s * interval '1 second'
                     THEN known.seen_at ELSE known.away_from END,
    away_until = CASE WHEN EXCLUDED.seen_at - known.seen_at > %(away)s * interval '1 second'
                      THEN EXCLUDED.seen_at ELSE known.away_until END
