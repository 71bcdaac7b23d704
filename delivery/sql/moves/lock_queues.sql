-- lock_queues: hold these queues' counters until commit, in ascending order, before looking at what is in the queues.
-- Runs on: queues_counter's primary key.
SELECT queue_id FROM queues_counter WHERE queue_id = ANY (%(queue_id)s::bigint[]) ORDER BY queue_id FOR NO KEY UPDATE
