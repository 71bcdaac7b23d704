-- newest_indexes: how many messages were ever posted to each queue.
-- Runs on: queues_counter as a whole: one narrow row for each queue.
SELECT queue_id, newest_index FROM queues_counter
