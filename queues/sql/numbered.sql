-- numbered: the queues of these numbers.
-- Runs on: queues_queue's primary key.
SELECT * FROM queues_queue WHERE id = ANY (%(queue_id)s::bigint[])
