-- forget_notices: notices whose poster never came back for them.
-- Runs on: pending_notice_age.
DELETE FROM delivery_pendingnotice
WHERE id IN (
    SELECT id FROM delivery_pendingnotice
    WHERE created_at <= coalesce(%(now)s::timestamptz, now()) - %(seconds)s * interval '1 second'
    ORDER BY created_at LIMIT %(limit)s FOR UPDATE SKIP LOCKED
)
