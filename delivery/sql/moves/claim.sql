-- claim: give ready messages to those who wait for them, queue by queue, many queues in one statement.
-- Runs on: message_ready, from the floor upwards; the message's primary key.
-- Shape: every waiting place has a position in the arrays `holder` and `work_timeout`; the places of one queue
-- follow each other from `first_place` on, longest-waiting first. A work_timeout below zero means the queue's own.
-- The floor is a hint that skips the dead index entries of messages that ended lately: nothing below it was ready
-- when the caller last looked there. Queues with limits give nothing here, also to a node that does not know of them
-- yet (claim_limited.sql). What lies beyond MOST_TAKEN_BYTES of bodies is locked and left alone.
WITH demand AS (
    SELECT * FROM unnest(
        %(queue_id)b::bigint[], %(first_place)b::bigint[], %(places)b::bigint[],
        %(floor_rank)b::bigint[], %(floor_index)b::bigint[]
    ) AS d (queue_id, first_place, places, floor_rank, floor_index)
), picked AS MATERIALIZED (
    SELECT m.queue_id, m.index, m.bytes, q.heartbeat_timeout,
           d.first_place - 1 + row_number() OVER (PARTITION BY m.queue_id ORDER BY m.rank, m.index) AS place
    FROM demand d
    JOIN queues_queue q ON q.id = d.queue_id AND NOT q.paused AND q.kind = 'work'
                       AND q.max_in_flight IS NULL AND q.rate IS NULL
    CROSS JOIN LATERAL (
        SELECT queue_id, priority * -1 AS rank, index, octet_length(body) AS bytes
        FROM delivery_message
        WHERE queue_id = d.queue_id AND state = :READY AND (priority * -1, index) >= (d.floor_rank, d.floor_index)
          AND (expires_at IS NULL OR expires_at > now())
        ORDER BY priority * -1, index
        LIMIT d.places
        FOR UPDATE SKIP LOCKED
    ) m
), counted_bytes AS (
    SELECT *, sum(bytes) OVER (ORDER BY place ROWS UNBOUNDED PRECEDING) - bytes AS bytes_before FROM picked
), assigned AS (
    SELECT queue_id, index, place, (%(holder)b::bigint[])[place] AS holder,
           CASE WHEN (%(work_timeout)b::float8[])[place] < 0 THEN heartbeat_timeout
                ELSE (%(work_timeout)b::float8[])[place] END AS work_timeout
    FROM counted_bytes
    WHERE bytes_before < :MOST_TAKEN_BYTES
), claimed AS (
    UPDATE delivery_message m
    SET state = :CLAIMED, holder = a.holder, attempts = m.attempts + 1, assigned_at = now(), available_at = NULL,
        work_timeout = a.work_timeout, lease_until = now() + a.work_timeout * interval '1 second'
    FROM assigned a
    WHERE m.queue_id = ANY (ARRAY[a.queue_id]) AND m.index = ANY (ARRAY[a.index])
    RETURNING a.place, m.queue_id, m.sequence, m.index, m.attempts, m.priority, m.body, m.work_timeout,
              m.poster, m.poster_node, m.label, m.notify, m.headers, m.group_key
), :ASSIGN_NOTICED
SELECT * FROM claimed
