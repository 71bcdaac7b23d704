-- pop: hand over ready messages and end them in one go; otherwise as claim.sql, whose places and floor it shares.
-- Runs on: message_ready, from the floor upwards; the message's primary key.
-- Shape: a queue with a rate or a bound on its groups gives nothing here, also to a node that does not know of it yet
-- (claim_limited.sql).
WITH demand AS (
    SELECT * FROM unnest(
        %(queue_id)b::bigint[], %(first_place)b::bigint[], %(places)b::bigint[],
        %(floor_rank)b::bigint[], %(floor_index)b::bigint[]
    ) AS d (queue_id, first_place, places, floor_rank, floor_index)
), picked AS MATERIALIZED (
    SELECT m.queue_id, m.index, m.bytes, q.name AS queue_name, q.tags AS queue_tags, q.keep_bodies,
           d.first_place - 1 + row_number() OVER (PARTITION BY m.queue_id ORDER BY m.rank, m.index) AS place
    FROM demand d
    JOIN queues_queue q ON q.id = d.queue_id AND NOT q.paused AND q.kind = 'work' AND q.rate IS NULL
                       AND q.group_in_flight IS NULL
    CROSS JOIN LATERAL (
        SELECT queue_id, priority * -1 AS rank, index, :MESSAGE_BYTES AS bytes
        FROM delivery_message
        WHERE queue_id = d.queue_id AND state = :READY AND (priority * -1, index) >= (d.floor_rank, d.floor_index)
          AND (expires_at IS NULL OR expires_at > now())
        ORDER BY priority * -1, index
        LIMIT d.places
        FOR UPDATE SKIP LOCKED
    ) m
), counted_bytes AS (
    SELECT *, sum(bytes) OVER (ORDER BY place ROWS UNBOUNDED PRECEDING) - bytes AS bytes_before FROM picked
), ended AS (
    DELETE FROM delivery_message m
    USING counted_bytes k
    WHERE k.bytes_before < :MOST_TAKEN_BYTES AND m.queue_id = ANY (ARRAY[k.queue_id]) AND m.index = ANY (ARRAY[k.index])
    RETURNING k.place, k.queue_name, k.queue_tags, m.queue_id, m.sequence, m.index, m.attempts + 1 AS attempts,
              m.priority, m.body, m.posted_at, now() AS assigned_at, m.poster, m.poster_node, m.label, m.notify, m.headers,
              m.group_key,
              (%(holder)b::bigint[])[k.place] AS holder, (%(client)b::text[])[k.place] AS client,
              :POPPED AS outcome, NULL AS reason, NULL AS error, octet_length(m.body) AS size,
              CASE WHEN k.keep_bodies THEN m.body END AS kept_body,
              CASE WHEN k.keep_bodies THEN :KEPT_EXTRAS END AS kept_extras
), :JOURNALLED, :COUNTED, noticed AS (
    INSERT INTO delivery_pendingnotice (session_id, stage, label, queue_id, queue_name, sequence, index, notify)
    SELECT poster, :STAGE_FINISH, label, queue_id,
           CASE WHEN notify & (:NAMED_SEVERAL | :REQUEST) > 0 THEN queue_name END, sequence, index, notify
    FROM ended
    WHERE notify & :NOTIFY_FINISH > 0 AND poster_node <> %(node)s
)
SELECT place, queue_id, sequence, index, attempts, priority, body, poster, poster_node, label, notify, headers,
       group_key
FROM ended
