-- claim_limited: give ready messages of a queue that has limits to those who wait for them, as many as its limits allow.
-- Runs on: message_ready, from the floor upwards; for pops, which wait for nobody of their group, message_behind_in_order;
-- what _allowed.sql runs on: message_claimed, as far as the limit reaches; delivery_ratebucket's primary key.
-- Shape: that of claim_from_one.sql. The caller holds the queue's lock, taken by a statement of its own, so the claims
-- that are counted here are all there are. One row comes back also if nothing could be claimed: how many were allowed,
-- and when the rate allows the next one. For pops, `node` is NULL: their posters are told of no assignment.
WITH :ALLOWED, picked AS MATERIALIZED (
    SELECT m.row_id, a.heartbeat_timeout, row_number() OVER so_far AS place,
           sum(m.bytes) OVER so_far - m.bytes AS bytes_before
    FROM allowed a
    CROSS JOIN LATERAL (
        SELECT * FROM (
            SELECT ctid AS row_id, priority * -1 AS rank, index, :MESSAGE_BYTES AS bytes
            FROM delivery_message
            WHERE queue_id = a.id AND state = :READY AND (priority * -1, index) >= (%(floor_rank)s, %(floor_index)s)
              AND (expires_at IS NULL OR expires_at > now())
            ORDER BY priority * -1, index
            LIMIT least(%(places)s, a.most)
            FOR UPDATE SKIP LOCKED
        ) ready
        UNION ALL
        SELECT * FROM (
            SELECT ctid AS row_id, priority * -1 AS rank, index, :MESSAGE_BYTES AS bytes
            FROM delivery_message
            WHERE queue_id = a.id AND state + 0 = :BEHIND AND (expires_at IS NULL OR expires_at > now())
            ORDER BY priority * -1, index
            LIMIT CASE WHEN %(pops)s::boolean THEN least(%(places)s, a.most) ELSE 0 END
            FOR UPDATE SKIP LOCKED
        ) behind
        ORDER BY rank, index
        LIMIT least(%(places)s, a.most)
    ) m
    WINDOW so_far AS (ROWS UNBOUNDED PRECEDING)
), :HANDED_OUT, went AS MATERIALIZED (
    SELECT a.id AS queue_id, p.messages, p.messages < %(places)s AND a.level - p.messages < 1 AS wanted
    FROM allowed a CROSS JOIN (SELECT count(*) AS messages FROM assigned) p
), :SPENT, :ASSIGN_NOTICED
SELECT c.place, c.queue_id, c.sequence, c.index, c.attempts, c.priority, c.body, c.work_timeout, c.poster,
       c.poster_node, c.label, c.notify, c.headers, c.group_key,
       a.most, CASE WHEN w.wanted THEN (1 - a.level + w.messages) / a.rate END AS next_in
FROM allowed a JOIN went w ON w.queue_id = a.id LEFT JOIN claimed c ON true
