-- held_by: what a session holds, for a client that came back with its id and for one that will not.
-- Runs on: message_claimed, once for each queue of which somebody holds messages.
WITH RECURSIVE :QUEUES_WITH_CLAIMS
SELECT m.queue_id, m.sequence, m.index, m.work_timeout, m.group_key
FROM queues_with_claims q
CROSS JOIN LATERAL (
    SELECT queue_id, sequence, index, work_timeout, group_key FROM delivery_message
    WHERE queue_id = q.queue_id AND holder = %(holder)s AND lease_until IS NOT NULL ORDER BY lease_until OFFSET 0
) m
