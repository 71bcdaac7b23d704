-- held_messages: what a session holds, whole, to be sent to its client again.
-- Runs on: message_holder; queues_queue's primary key.
SELECT m.queue_id, q.name AS queue_name, m.sequence, m.index, m.attempts, m.priority, m.body, m.work_timeout
FROM delivery_message m JOIN queues_queue q ON q.id = m.queue_id
WHERE m.state = 2 AND m.holder = %(holder)s
ORDER BY m.queue_id, m.index
