-- hand_claims_over: what a client's earlier session held belongs to its new one, and its time starts again.
-- Runs on: message_holder.
UPDATE delivery_message
SET holder = %(to)s, lease_until = now() + work_timeout * interval '1 second'
WHERE state = :CLAIMED AND holder = %(from)s
