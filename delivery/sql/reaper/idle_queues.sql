-- idle_queues: queues that are empty but have given out IDs, locked, for restart_sequences.sql.
-- Runs on: the message's primary key, once for each queue.
SELECT id FROM queues_queue q
WHERE next_sequence > 1 AND NOT EXISTS (SELECT FROM delivery_message m WHERE m.queue_id = ANY (ARRAY[q.id]))
ORDER BY id
LIMIT %(limit)s
FOR NO KEY UPDATE SKIP LOCKED
