-- changed: the queues that were defined or changed within the last seconds, but for those that the caller has seen as
-- they are.
-- Runs on: queue_changed.
-- Shape: those seconds overlap with what was looked at before, and somebody may define thousands of queues in them.
SELECT q.*
FROM queues_queue q
WHERE q.changed_at > now() - %(seconds)s * interval '1 second'
  AND (q.id, (extract(epoch FROM q.changed_at) * 1000000)::bigint) NOT IN (
      SELECT seen.id, seen.changed_at FROM unnest(%(queue_id)b::bigint[], %(changed_at)b::bigint[]) AS seen (id, changed_at)
  )
