-- deleted: those of the queues that are no longer there.
-- Runs on: queues_queue's primary key.
SELECT w.id
FROM unnest(%(queue_id)b::bigint[]) AS w (id)
WHERE NOT EXISTS (SELECT FROM queues_queue q WHERE q.id = w.id)
