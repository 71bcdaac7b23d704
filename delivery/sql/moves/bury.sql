-- bury: take messages out of their queues for good; what comes back is posted to the dead letter queues by the
-- caller, in the same transaction.
-- Runs on: the message's primary key; clients_session's primary key.
-- Shape: the caller holds the rows locked (retry.sql, expired_messages.sql), so the index is guard enough.
WITH dying AS (
    SELECT * FROM unnest(
        %(queue_id)b::bigint[], %(index)b::bigint[],
        %(client)b::text[], %(reason)b::text[], %(error)b::text[]
    ) AS d (queue_id, index, client, reason, error)
), ended AS (
    DELETE FROM delivery_message m
    USING dying d JOIN queues_queue q ON q.id = d.queue_id
    WHERE m.queue_id = ANY (ARRAY[d.queue_id]) AND m.index = ANY (ARRAY[d.index])
    RETURNING q.name AS queue_name, q.tags AS queue_tags, q.keep_replies, NULL::bytea AS reply, :DEAD AS outcome, d.reason,
              coalesce(d.client, m.last_client) AS client, coalesce(d.error, m.last_error) AS error,
              m.queue_id, m.sequence, m.index, m.attempts, m.priority, m.body, m.posted_at, m.assigned_at, m.holder,
              m.poster, m.poster_key, m.poster_node, m.label, m.notify, m.headers, m.group_key, m.unique_key,
              octet_length(m.body) AS size, CASE WHEN q.keep_bodies THEN m.body END AS kept_body,
              CASE WHEN q.keep_bodies THEN :KEPT_EXTRAS END AS kept_extras
), :JOURNALLED, :COUNTED, :GROUPS_TOUCHED, :DROP_NOTICED, :REPLY_KEPT
SELECT e.queue_id, e.queue_name, e.queue_tags, e.sequence, e.index, e.attempts, e.priority, e.body, e.reason, e.error,
       e.client, e.poster, e.poster_node, e.label, e.notify, e.headers, e.group_key, e.unique_key,
       coalesce(e.poster_key, (SELECT coalesce(s.key_id, 0) FROM clients_session s WHERE s.id = e.poster)) AS poster_key
FROM ended e
