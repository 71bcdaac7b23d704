-- claim_from_one: give ready messages of a single queue to those who wait for them, as claim.sql does for many queues. On
-- most brokers most claims are of this kind.
-- Runs on: message_ready, from the floor upwards; queues_queue's primary key.
-- Shape: a row that was just locked is found again by where it lies (ctid), which cannot change before the commit. A queue
-- with limits gives nothing here, also to a node that does not know of them yet (claim_limited.sql).
-- What lies beyond MOST_TAKEN_BYTES of bodies is locked and left alone: no answer may be larger than memory.
WITH picked AS MATERIALIZED (
    SELECT m.row_id, q.heartbeat_timeout, row_number() OVER so_far AS place,
           sum(m.bytes) OVER so_far - m.bytes AS bytes_before
    FROM queues_queue q
    CROSS JOIN LATERAL (
        SELECT ctid AS row_id, octet_length(body) AS bytes
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
), assigned AS (
    SELECT row_id, place, (%(holder)b::bigint[])[place] AS holder,
           CASE WHEN (%(work_timeout)b::float8[])[place] < 0 THEN heartbeat_timeout
                ELSE (%(work_timeout)b::float8[])[place] END AS work_timeout
    FROM picked
    WHERE bytes_before < :MOST_TAKEN_BYTES
), claimed AS (
    UPDATE delivery_message m
    SET state = :CLAIMED, holder = a.holder, attempts = m.attempts + 1, assigned_at = now(), available_at = NULL,
        work_timeout = a.work_timeout, lease_until = now() + a.work_timeout * interval '1 second'
    FROM assigned a
    WHERE m.ctid = a.row_id
    RETURNING a.place, m.queue_id, m.sequence, m.index, m.attempts, m.priority, m.body, m.work_timeout,
              m.poster, m.poster_node, m.label, m.notify, m.headers, m.group_key
), :ASSIGN_NOTICED
SELECT * FROM claimed
