-- held_by: what a session holds, for a client that came back with its id and for one that will not.
-- Runs on: message_holder.
SELECT queue_id, sequence, index, work_timeout FROM delivery_message WHERE state = :CLAIMED AND holder = %(holder)s
