-- ready_queues: those of the queues that have something to hand out, for the slow poll.
-- Runs on: message_ready, once for each queue.
-- Shape: ordered as the index is, or the planner would as soon take another one.
SELECT q.id
FROM queues_queue q
WHERE q.id = ANY (%(queue_id)s::bigint[]) AND NOT q.paused
  AND (q.kind = 'stream' OR (
      SELECT true FROM delivery_message m WHERE m.queue_id = q.id AND m.state = :READY
      ORDER BY m.priority * -1, m.index LIMIT 1
  ))
