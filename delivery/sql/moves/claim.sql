-- claim: give ready messages to those who wait for them, queue by queue, many queues in one statement.
-- Runs on: message_ready, from the floor upwards; queues_queue's primary key.
-- Shape: every waiting place has a position in the arrays `holder` and `work_timeout`; the places of one queue
-- follow each other from `first_place` on, longest-waiting first. A work_timeout below zero means the queue's own.
-- The floor is a hint that skips the dead index entries of messages that ended lately: nothing below it was ready
-- when the caller last looked there. Queues with limits give nothing here, also to a node that does not know of them
-- yet (claim_limited.sql).
WITH demand AS (
    SELECT * FROM unnest(
        %(queue_id)b::bigint[], %(first_place)b::bigint[], %(places)b::bigint[],
        %(floor_rank)b::bigint[], %(floor_index)b::bigint[]
    ) AS d (queue_id, first_place, places, floor_rank, floor_index)
), locked AS MATERIALIZED (
    SELECT m.row_id, m.bytes, q.heartbeat_timeout,
           d.first_place - 1 + row_number() OVER (PARTITION BY m.queue_id ORDER BY m.rank, m.index) AS place
    FROM demand d
    JOIN queues_queue q ON q.id = d.queue_id AND NOT q.paused AND q.kind = 'work'
                       AND q.max_in_flight IS NULL AND q.rate IS NULL
    CROSS JOIN LATERAL (
        SELECT ctid AS row_id, queue_id, priority * -1 AS rank, index, :MESSAGE_BYTES AS bytes
        FROM delivery_message
        WHERE queue_id = d.queue_id AND state = :READY AND (priority * -1, index) >= (d.floor_rank, d.floor_index)
          AND (expires_at IS NULL OR expires_at > now())
        ORDER BY priority * -1, index
        LIMIT d.places
        FOR UPDATE SKIP LOCKED
    ) m
), picked AS (
    SELECT *, sum(bytes) OVER (ORDER BY place ROWS UNBOUNDED PRECEDING) - bytes AS bytes_before FROM locked
), :HANDED_OUT, :ASSIGN_NOTICED
SELECT * FROM claimed
