-- doubtful_claims: what sessions hold since some seconds, to find what was claimed for them without their knowing.
-- Runs on: message_claimed, once for each session and queue of which somebody holds messages.
WITH RECURSIVE :QUEUES_WITH_CLAIMS
SELECT m.holder, m.queue_id, m.sequence, m.index
FROM queues_with_claims q
CROSS JOIN unnest(%(holder)s::bigint[]) AS s (holder)
CROSS JOIN LATERAL (
    SELECT holder, queue_id, sequence, index, assigned_at FROM delivery_message
    WHERE queue_id = q.queue_id AND holder = s.holder AND lease_until IS NOT NULL ORDER BY lease_until OFFSET 0
) m
WHERE m.assigned_at < now() - %(seconds)s * interval '1 second'
