-- expired_of_queue: messages of one queue whose time to live ended, locked, for bury.sql in the same transaction.
-- Runs on: message_expiry.
SELECT queue_id, sequence, index
FROM delivery_message
WHERE queue_id = %(queue_id)s AND expires_at <= now()
ORDER BY expires_at
LIMIT %(limit)s
FOR UPDATE SKIP LOCKED
