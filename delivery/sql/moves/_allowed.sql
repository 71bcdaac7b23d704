-- allowed: how many messages of each limited queue may go now (`most`; NULL: any number), and how many its rate has
-- saved up (`level`). The caller holds the locks of these queues, so nobody else claims from them meanwhile.
-- Runs on: queues_queue's and delivery_ratebucket's primary keys; message_claimed, as far as the limit reaches.
-- Shape: what is saved up grows by the rate, to `burst` at most. Somebody who waits for the next message asks for it a
-- little after it is due; what grows in that moment is not lost, or a low `burst` would make a high rate a lower one.
allowed AS MATERIALIZED (
    SELECT q.id, q.heartbeat_timeout, q.rate, q.at, l.level,
           least(CASE WHEN q.max_in_flight IS NOT NULL AND NOT %(pops)s::boolean
                      THEN greatest(0, q.max_in_flight - c.claims) END,
                 floor(l.level)::bigint) AS most
    FROM (
        SELECT *, coalesce(burst, greatest(1, rate)) AS room, clock_timestamp() AS at
        FROM queues_queue WHERE id = ANY (%(limited)b::bigint[]) AND NOT paused AND kind = 'work'
    ) q
    LEFT JOIN delivery_ratebucket b ON b.queue_id = q.id
    CROSS JOIN LATERAL (
        SELECT count(*) AS claims FROM (
            SELECT FROM delivery_message WHERE queue_id = q.id AND lease_until IS NOT NULL
            ORDER BY holder, lease_until LIMIT coalesce(q.max_in_flight, 0)
        ) held
    ) c
    CROSS JOIN LATERAL (SELECT extract(epoch FROM greatest(q.at, b.filled_at) - b.filled_at)::float8 AS seconds) e
    CROSS JOIN LATERAL (
        SELECT CASE WHEN q.rate IS NULL THEN NULL
                    WHEN b.queue_id IS NULL THEN q.room
                    WHEN b.wanted AND e.seconds <= (1 - b.tokens) / q.rate + :RATE_GRACE_MS / 1000.0
                    THEN b.tokens + e.seconds * q.rate
                    ELSE least(q.room, b.tokens + e.seconds * q.rate) END AS level
    ) l
)
