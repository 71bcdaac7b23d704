-- lost_workers: workers that nobody has heard of for three of their heartbeats, and whose node does not see to it.
-- Runs on: delivery_worker as a whole; workers are few.
-- Shape: a node looks after its own workers and says when it heard of them; the lapse gives it time to do both.
DELETE FROM delivery_worker
WHERE session_id IN (
    SELECT session_id FROM delivery_worker
    WHERE seen_at <= coalesce(%(now)s::timestamptz, now())
                     - (%(missed)s * heartbeat_interval + %(lapse)s) * interval '1 second'
    LIMIT %(limit)s FOR UPDATE SKIP LOCKED
)
RETURNING session_id, identity, queue_ids
