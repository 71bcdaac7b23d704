-- take_out: messages leave their queues for others, to which the caller has posted them in the same transaction.
-- Runs on: the message's primary key.
-- Shape: the caller holds the rows locked (lock_unclaimed.sql), so the index is guard enough. The poster is told
-- nothing: its message lives on.
WITH leaving AS (
    SELECT * FROM unnest(%(queue_id)b::bigint[], %(index)b::bigint[], %(error)b::text[])
                  AS l (queue_id, index, error)
), ended AS (
    DELETE FROM delivery_message m
    USING leaving l JOIN queues_queue q ON q.id = l.queue_id
    WHERE m.queue_id = ANY (ARRAY[l.queue_id]) AND m.index = ANY (ARRAY[l.index])
    RETURNING q.name AS queue_name, q.tags AS queue_tags, l.error, m.queue_id, m.sequence, m.index, m.attempts,
              m.priority, m.posted_at, m.assigned_at, m.poster, NULL::bigint AS holder, m.last_client AS client,
              :DROPPED AS outcome, :BY_OPERATOR AS reason, octet_length(m.body) AS size, NULL::bytea AS kept_body, NULL::jsonb AS kept_extras
), :JOURNALLED, :COUNTED
SELECT count(*) FROM ended
