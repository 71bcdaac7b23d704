-- held_counts: how many messages each of some sessions holds.
-- Runs on: message_claimed, once for each session and queue of which somebody holds messages.
WITH RECURSIVE :QUEUES_WITH_CLAIMS
SELECT s.id, (SELECT count(*)
        FROM queues_with_claims q
        CROSS JOIN LATERAL (
            SELECT FROM delivery_message
            WHERE queue_id = q.queue_id AND holder = s.id AND lease_until IS NOT NULL ORDER BY lease_until OFFSET 0
        ) m)
FROM unnest(%(session_id)s::bigint[]) AS s (id)
