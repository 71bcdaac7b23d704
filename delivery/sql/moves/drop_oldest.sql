-- drop_oldest: make room in full queues by removing the oldest messages that nobody holds. The newest one stays, also
-- where all others are held: a post must not fall to the room that it asks for itself.
-- Runs on: the message's primary key, from the oldest on.
WITH excess AS (
    SELECT * FROM unnest(%(queue_id)b::bigint[], %(messages)b::bigint[]) AS e (queue_id, messages)
), oldest AS MATERIALIZED (
    SELECT m.queue_id, m.index, q.name AS queue_name, q.tags AS queue_tags
    FROM excess e
    JOIN queues_queue q ON q.id = e.queue_id
    JOIN queues_counter n ON n.queue_id = e.queue_id
    CROSS JOIN LATERAL (
        SELECT queue_id, index FROM delivery_message
        WHERE queue_id = e.queue_id AND index < n.newest_index AND state IN (:READY, :DELAYED, :RETAINED)
        ORDER BY index
        LIMIT e.messages
        FOR UPDATE SKIP LOCKED
    ) m
), ended AS (
    DELETE FROM delivery_message m
    USING oldest o
    WHERE m.queue_id = ANY (ARRAY[o.queue_id]) AND m.index = ANY (ARRAY[o.index])
    RETURNING o.queue_name, o.queue_tags, m.queue_id, m.sequence, m.index, m.attempts, m.priority, m.posted_at,
              m.poster, m.poster_node, m.label, m.notify,
              :DROPPED AS outcome, :BY_OVERFLOW AS reason, NULL AS error, octet_length(m.body) AS size,
              NULL::bigint AS holder, NULL AS client, NULL::timestamptz AS assigned_at, NULL::bytea AS kept_body, NULL::jsonb AS kept_extras
), :JOURNALLED, :COUNTED, :DROP_NOTICED
SELECT queue_id, sequence, index, poster, poster_node, label, notify FROM ended
