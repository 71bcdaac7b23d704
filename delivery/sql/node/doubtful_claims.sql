-- doubtful_claims: what sessions hold since some seconds, to find what was claimed for them without their knowing.
-- Runs on: message_holder.
SELECT holder, queue_id, sequence, index
FROM delivery_message
WHERE state = :CLAIMED AND holder = ANY (%(holder)s) AND assigned_at < now() - %(seconds)s * interval '1 second'
