-- held_messages: what a session holds, whole, to be sent to its client again.
-- Runs on: message_holder.
SELECT queue_id, sequence, index, attempts, priority, body, work_timeout
FROM delivery_message WHERE state = 2 AND holder = %(holder)s
ORDER BY queue_id, index
