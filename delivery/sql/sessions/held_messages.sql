-- held_messages: what a session holds, whole, to be sent to its client again.
-- Runs on: message_holder; queues_queue's primary key.
-- Shape: sorted after it is read, or the primary key would be walked from end to end for its order.
WITH held AS MATERIALIZED (
    SELECT queue_id, sequence, index, attempts, priority, body, work_timeout, headers, group_key
    FROM delivery_message WHERE state = :CLAIMED AND holder = %(holder)s
)
SELECT m.queue_id, q.name AS queue_name, m.sequence, m.index, m.attempts, m.priority, m.body, m.work_timeout,
       m.headers, m.group_key
FROM held m JOIN queues_queue q ON q.id = m.queue_id
ORDER BY m.queue_id, m.index
