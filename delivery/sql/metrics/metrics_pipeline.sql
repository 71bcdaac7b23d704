-- metrics_pipeline: the last run of the data pipeline that has ended; no row, if there was none.
-- Runs on: willow_pipeline_runs as a whole; it has at most 1,001 rows.
SELECT command, state = 'failed' AS failed, rows, bytes, facts, steps::text AS steps,
       extract(epoch FROM now() - ended_at)::float8 AS age,
       extract(epoch FROM ended_at - started_at)::float8 AS seconds
FROM willow_pipeline_runs
WHERE ended_at IS NOT NULL
ORDER BY id DESC
LIMIT 1
