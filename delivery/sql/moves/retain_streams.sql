-- retain_streams: remove from streams what their retention no longer keeps: by age, by count, or acknowledged by all.
-- Runs on: the message's primary key, from the oldest on, once for each stream.
-- Shape: the oldest few of each stream are looked at, whether they may go or not, so a stream that keeps everything
-- costs no more than one that does not. How many are too many is counted, since indexes may have gaps. A stream without
-- a persistent subscriber has nobody to acknowledge for it.
WITH bound AS (
    SELECT q.id, q.name, q.tags,
           coalesce(%(now)s::timestamptz, now()) - q.retention_seconds * interval '1 second' AS posted_before,
           n.newest_index - coalesce(e.messages, 0) - q.retention_count AS beyond_count,
           CASE WHEN q.retention_acked THEN (
               SELECT min(p.floor_index)
               FROM clients_position p JOIN clients_client c ON c.id = p.client_id AND c.persistent
               WHERE p.queue_id = q.id
           ) END AS acked_by_all
    FROM queues_queue q JOIN queues_counter n ON n.queue_id = q.id
    LEFT JOIN LATERAL (
        SELECT sum(messages)::bigint AS messages FROM delivery_endedcount WHERE queue_id = q.id
    ) e ON true
    WHERE q.kind = 'stream'
      AND (q.retention_seconds IS NOT NULL OR q.retention_count IS NOT NULL OR q.retention_acked)
), past AS MATERIALIZED (
    SELECT o.queue_id, o.index, b.name AS queue_name, b.tags AS queue_tags
    FROM bound b
    CROSS JOIN LATERAL (
        SELECT queue_id, index, posted_at, row_number() OVER (ORDER BY index) AS place
        FROM delivery_message WHERE queue_id = b.id ORDER BY index LIMIT %(limit)s
    ) o
    WHERE o.posted_at < b.posted_before OR o.place <= b.beyond_count OR o.index <= b.acked_by_all
), ended AS (
    DELETE FROM delivery_message m
    USING past p
    WHERE m.queue_id = ANY (ARRAY[p.queue_id]) AND m.index = ANY (ARRAY[p.index]) AND m.state = :RETAINED
    RETURNING p.queue_name, p.queue_tags, m.queue_id, m.sequence, m.index, m.attempts, m.priority, m.poster, m.posted_at,
              :DROPPED AS outcome, :BY_RETENTION AS reason, NULL AS error, octet_length(m.body) AS size,
              NULL::bigint AS holder, NULL AS client, NULL::timestamptz AS assigned_at, NULL::bytea AS kept_body, NULL::jsonb AS kept_extras
), :JOURNALLED, :COUNTED
SELECT count(*) AS messages FROM ended
