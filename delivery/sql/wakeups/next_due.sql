-- next_due: seconds until the next delayed message of a queue is due.
-- Runs on: message_delayed.
SELECT extract(epoch FROM min(available_at) - now())::float8
FROM delivery_message WHERE queue_id = %(queue_id)s AND state = :DELAYED
