-- claim_across: one reader takes from several queues as if they were one.
-- Runs on: message_ready, once for each queue; for pops also message_behind_in_order; the message's primary key.
-- Shape: the best few of each queue are looked at without a lock, put in order over all queues, and only then
-- locked: a row that somebody else is just taking is skipped, and the caller asks again, looking at more of them
-- (`looked_at`, at least `places`). `evenly` takes the first of each queue, then the second of each (starting after
-- the queue served last); otherwise priority decides, then age. Of queues with limits the caller, who holds their locks,
-- says how many may go (`most`; allowances.sql). What lies beyond MOST_TAKEN_BYTES is locked and left alone.
WITH considered AS (
    SELECT m.*, q.position, row_number() OVER (PARTITION BY m.queue_id ORDER BY m.rank, m.index) AS round
    FROM unnest(%(queue_id)b::bigint[], %(most)b::bigint[]) WITH ORDINALITY AS q (id, most, position)
    JOIN queues_queue k ON k.id = q.id AND NOT k.paused AND k.kind = 'work'
                       AND (q.most IS NOT NULL OR k.rate IS NULL AND CASE WHEN %(pops)s::boolean
                                                                         THEN k.group_in_flight IS NULL
                                                                         ELSE k.max_in_flight IS NULL END)
    CROSS JOIN LATERAL (
        SELECT * FROM (
            SELECT queue_id, priority * -1 AS rank, index, posted_at
            FROM delivery_message
            WHERE queue_id = q.id AND state = :READY AND (expires_at IS NULL OR expires_at > now())
            ORDER BY priority * -1, index
            LIMIT least(%(looked_at)s, q.most)
        ) ready
        UNION ALL
        SELECT * FROM (
            SELECT queue_id, priority * -1 AS rank, index, posted_at
            FROM delivery_message
            WHERE queue_id = q.id AND state + 0 = :BEHIND AND (expires_at IS NULL OR expires_at > now())
            ORDER BY priority * -1, index
            LIMIT CASE WHEN %(pops)s::boolean THEN least(%(looked_at)s, q.most) ELSE 0 END
        ) behind
        ORDER BY rank, index
        LIMIT least(%(looked_at)s, q.most)
    ) m
), chosen AS MATERIALIZED (
    SELECT queue_id, index,
           row_number() OVER (ORDER BY CASE WHEN %(evenly)s THEN round END, CASE WHEN %(evenly)s THEN position END,
                                       rank, posted_at, queue_id, index) AS place
    FROM considered
    ORDER BY place
    LIMIT %(looked_at)s
), locked AS MATERIALIZED (
    SELECT m.queue_id, m.index, c.place, :MESSAGE_BYTES AS bytes
    FROM chosen c JOIN delivery_message m ON m.queue_id = ANY (ARRAY[c.queue_id]) AND m.index = ANY (ARRAY[c.index])
    -- still ready, or behind, for pops; written so that only the primary key fits
    WHERE m.state + 0 IN (:READY, CASE WHEN %(pops)s::boolean THEN :BEHIND ELSE :READY END)
    ORDER BY c.place
    LIMIT %(places)s
    FOR UPDATE OF m SKIP LOCKED
), counted_bytes AS (
    SELECT *, sum(bytes) OVER (ORDER BY place ROWS UNBOUNDED PRECEDING) - bytes AS bytes_before FROM locked
), claimed AS (
    UPDATE delivery_message m
    SET state = :CLAIMED, holder = %(holder)s, attempts = m.attempts + 1, assigned_at = now(), available_at = NULL,
        work_timeout = coalesce(%(work_timeout)s, q.heartbeat_timeout),
        lease_until = now() + coalesce(%(work_timeout)s, q.heartbeat_timeout) * interval '1 second'
    FROM counted_bytes l JOIN queues_queue q ON q.id = l.queue_id
    WHERE l.bytes_before < :MOST_TAKEN_BYTES AND m.queue_id = ANY (ARRAY[l.queue_id]) AND m.index = ANY (ARRAY[l.index])
    RETURNING l.place, m.queue_id, m.sequence, m.index, m.attempts, m.priority, m.body, m.work_timeout,
              m.poster, m.poster_node, m.label, m.notify, m.headers, m.group_key, q.name AS queue_name
), noticed AS (
    INSERT INTO delivery_pendingnotice (session_id, stage, label, queue_id, queue_name, sequence, index)
    SELECT poster, :STAGE_ASSIGN, label, queue_id, CASE WHEN notify & :NAMED_SEVERAL > 0 THEN queue_name END,
           sequence, index
    FROM claimed
    WHERE notify & :NOTIFY_ASSIGN > 0 AND NOT %(pops)s::boolean AND poster_node <> %(node)s
)
SELECT place, queue_id, sequence, index, attempts, priority, body, work_timeout, poster, poster_node, label, notify,
       headers, group_key
FROM claimed ORDER BY place
