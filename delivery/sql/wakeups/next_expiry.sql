-- next_expiry: seconds until the next message of a queue reaches the end of its time to live.
-- Runs on: message_expiry.
SELECT extract(epoch FROM expires_at - now())::float8
FROM delivery_message
WHERE queue_id = %(queue_id)s AND expires_at IS NOT NULL
ORDER BY expires_at
LIMIT 1
