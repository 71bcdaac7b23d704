-- record_runs: what came of due times.
-- Runs on: no index.
INSERT INTO delivery_schedulerun (schedule_id, due_at, by_hand, queue_id, sequence, index, duplicate, error)
SELECT schedule_id, due_at, %(by_hand)s, queue_id, sequence, index, duplicate, error
FROM unnest(
    %(schedule_id)s::bigint[], %(due_at)s::timestamptz[], %(queue_id)s::bigint[], %(sequence)s::bigint[],
    %(index)s::bigint[], %(duplicate)s::bool[], %(error)s::text[]
) AS a (schedule_id, due_at, queue_id, sequence, index, duplicate, error)
