-- bury: take messages out of their queues for good; what comes back is posted to the dead letter queues by the
-- caller, in the same transaction.
-- Runs on: the message's primary key.
-- Shape: the caller holds the rows locked (retry.sql, expired_messages.sql), so ID and index are guard enough.
WITH dying AS (
    SELECT * FROM unnest(
        %(queue_id)b::bigint[], %(sequence)b::bigint[], %(index)b::bigint[],
        %(client)b::text[], %(reason)b::text[], %(error)b::text[]
    ) AS d (queue_id, sequence, index, client, reason, error)
), ended AS (
    DELETE FROM delivery_message m
    USING dying d JOIN queues_queue q ON q.id = d.queue_id
    WHERE m.queue_id = ANY (ARRAY[d.queue_id]) AND m.sequence = ANY (ARRAY[d.sequence]) AND m.index = d.index
    RETURNING q.name AS queue_name, q.tags AS queue_tags, q.keep_bodies, d.reason,
              coalesce(d.client, m.last_client) AS client, coalesce(d.error, m.last_error) AS error,
              m.queue_id, m.sequence, m.index, m.attempts, m.priority, m.body, m.posted_at, m.assigned_at, m.holder,
              m.poster, m.poster_node, m.label, m.notify
), journalled AS (
    INSERT INTO delivery_journal (queue_id, queue_name, queue_tags, index, outcome, reason, attempt, priority, poster,
                                  holder, client, node, posted_at, assigned_at, size, error, body)
    SELECT queue_id, queue_name, queue_tags, index, 'dead', reason, attempts, priority, poster,
           holder, client, %(node_name)s, posted_at, assigned_at, octet_length(body), error,
           CASE WHEN keep_bodies THEN body END
    FROM ended
), freed AS (
    INSERT INTO delivery_freesequences (queue_id, sequences)
    SELECT queue_id, array_agg(sequence) FROM ended GROUP BY queue_id
), noticed AS (
    INSERT INTO delivery_pendingnotice (session_id, stage, label, queue_id, queue_name, sequence, index, notify)
    SELECT poster, 6, label, queue_id, CASE WHEN notify & 384 > 0 THEN queue_name END, sequence, index, notify
    FROM ended
    WHERE notify & 64 > 0 AND poster_node IS DISTINCT FROM %(node)s
)
SELECT queue_id, queue_name, queue_tags, sequence, index, attempts, priority, body, reason, error, client,
       poster, poster_node, label, notify
FROM ended
