-- ready_queues: those of the queues that have something to hand out, for the slow poll.
-- Runs on: message_ready, once for each queue.
SELECT q.id
FROM queues_queue q
WHERE q.id = ANY (%(queue_id)s::bigint[]) AND NOT q.paused
  AND (q.kind = 'stream' OR EXISTS (
      SELECT FROM delivery_message m WHERE m.queue_id = ANY (ARRAY[q.id]) AND m.state = :READY
  ))
