-- claim_from_one: give ready messages of a single queue to those who wait for them, as claim.sql does for many queues. On
-- most brokers most claims are of this kind.
-- Runs on: message_ready, from the floor upwards; queues_queue's primary key.
-- Shape: a queue with limits gives nothing here, also to a node that does not know of them yet (claim_limited.sql).
WITH picked AS MATERIALIZED (
    SELECT m.row_id, q.heartbeat_timeout, row_number() OVER so_far AS place,
           sum(m.bytes) OVER so_far - m.bytes AS bytes_before
    FROM queues_queue q
    CROSS JOIN LATERAL (
        SELECT ctid AS row_id, :MESSAGE_BYTES AS bytes
        FROM delivery_message
        WHERE queue_id = q.id AND state = :READY AND (priority * -1, index) >= (%(floor_rank)s, %(floor_index)s)
          AND (expires_at IS NULL OR expires_at > now())
        ORDER BY priority * -1, index
        LIMIT %(places)s
        FOR UPDATE SKIP LOCKED
    ) m
    WHERE q.id = %(queue_id)s AND NOT q.paused AND q.kind = 'work'
      AND q.max_in_flight IS NULL AND q.rate IS NULL
    WINDOW so_far AS (ROWS UNBOUNDED PRECEDING)
), :HANDED_OUT, :ASSIGN_NOTICED
SELECT * FROM claimed
