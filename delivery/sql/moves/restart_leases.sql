-- restart_leases: the claims of sessions whose node went away start their time again from zero.
-- Runs on: message_holder; the message's primary key.
-- Shape: locked by ascending ID, as everybody does who locks several messages: that index gives them in any order.
WITH held AS MATERIALIZED (
    SELECT queue_id, sequence FROM delivery_message
    WHERE state = :CLAIMED AND holder = ANY (%(holder)s::bigint[])
    ORDER BY queue_id + 0, sequence  -- + 0: lest the planner walk over the primary key for its order
    FOR NO KEY UPDATE
)
UPDATE delivery_message m
SET lease_until = now() + m.work_timeout * interval '1 second'
FROM held h
WHERE m.queue_id = ANY (ARRAY[h.queue_id]) AND m.sequence = ANY (ARRAY[h.sequence])
