-- restart_leases: the claims of sessions whose node went away start their time again from zero.
-- Runs on: message_holder.
UPDATE delivery_message
SET lease_until = now() + work_timeout * interval '1 second'
WHERE state = :CLAIMED AND holder = ANY (%(holder)s::bigint[])
