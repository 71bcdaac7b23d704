-- expired_claims: claims whose time ran out, locked, for retry.sql in the same transaction.
-- Runs on: message_claimed, once for each session that holds messages of a queue.
-- Shape: a claim whose client's node was silent when the claim's time ran out is left alone. If the node is dead, its
-- clients had no way to keep their claims; their time starts again when that is noticed (orphan_sessions.sql), when the
-- node is back, or when the client is (resume_session.sql). A node that was heard of in the last tenth of the claim's
-- time, and within a heartbeat of its end, counts as alive: to wait for its next heartbeat would keep each such message
-- from the next client for as long, for the sake of clients that keep their claims alive at the last moment.
WITH RECURSIVE held (queue_id, holder) AS (
    SELECT 0::bigint, 0::bigint
    UNION ALL
    SELECT next.queue_id, next.holder
    FROM held h
    CROSS JOIN LATERAL (
        SELECT queue_id, holder FROM delivery_message
        WHERE lease_until IS NOT NULL AND (queue_id, holder) > (h.queue_id, h.holder)
        ORDER BY queue_id, holder, lease_until LIMIT 1
    ) next
)
SELECT m.queue_id, m.sequence, m.index, m.holder, c.name AS client
FROM held h
LEFT JOIN clients_session s ON s.id = h.holder
LEFT JOIN clients_client c ON c.id = s.client_id
LEFT JOIN clients_node n ON n.id = s.node_id
CROSS JOIN LATERAL (
    SELECT queue_id, sequence, index, holder
    FROM delivery_message
    WHERE queue_id = h.queue_id AND holder = h.holder AND lease_until <= coalesce(%(now)s::timestamptz, now())
      AND (n.id IS NULL OR n.heartbeat_at > lease_until - make_interval(secs => least(work_timeout / 10, %(heartbeat)s)))
    ORDER BY lease_until
    LIMIT %(limit)s
    FOR UPDATE SKIP LOCKED
) m
LIMIT %(limit)s
