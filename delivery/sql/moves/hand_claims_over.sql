-- hand_claims_over: what a client's earlier session held belongs to its new one, and its time starts again.
-- Runs on: message_holder; the message's primary key.
-- Shape: locked by ascending ID, as restart_leases.sql does it.
WITH held AS MATERIALIZED (
    SELECT queue_id, sequence FROM delivery_message
    WHERE state = :CLAIMED AND holder = %(from)s
    ORDER BY queue_id + 0, sequence  -- + 0: lest the planner walk over the primary key for its order
    FOR NO KEY UPDATE
)
UPDATE delivery_message m
SET holder = %(to)s, lease_until = now() + m.work_timeout * interval '1 second'
FROM held h
WHERE m.queue_id = ANY (ARRAY[h.queue_id]) AND m.sequence = ANY (ARRAY[h.sequence])
