-- next_redrive: the redrive that has waited longest for its next step, locked, and how many messages it may move now.
-- Runs on: redrive_under_way.
-- Shape: a rate is kept by what has gathered since the last step; a job that may not move one message yet is left
-- for later.
SELECT *, extract(epoch FROM coalesce(%(now)s::timestamptz, now()) - stepped_at)::float8 AS since_last_step
FROM delivery_redrivejob
WHERE state IN ('running', 'undoing')
  AND (rate IS NULL OR rate * extract(epoch FROM coalesce(%(now)s::timestamptz, now()) - stepped_at) >= 1)
ORDER BY stepped_at
LIMIT 1
FOR UPDATE SKIP LOCKED
