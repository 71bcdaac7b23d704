-- lock_queues: hold these queues' rows until commit, in ascending order, before looking at what is in the queues.
-- Runs on: queues_queue's primary key.
SELECT id FROM queues_queue WHERE id = ANY (%(queue_id)s::bigint[]) ORDER BY id FOR NO KEY UPDATE
