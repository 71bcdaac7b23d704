-- how_many: how many queues there are.
-- Runs on: queues_queue's primary key.
SELECT count(*) FROM queues_queue
