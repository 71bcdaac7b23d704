-- cancel: posters take back messages that nobody holds.
-- Runs on: the message's primary key; clients_session's primary key.
-- Shape: guarded by state and by who posted it: this session, or another one with the same key. What somebody else is
-- just taking is skipped. The poster asked for it, and is sent no notice.
WITH chosen AS (
    SELECT * FROM unnest(%(queue_id)b::bigint[], %(index)b::bigint[], %(session)b::bigint[], %(key)b::bigint[])
                  WITH ORDINALITY AS c (queue_id, index, session, key, place)
), locked AS MATERIALIZED (
    SELECT c.place, m.queue_id, m.index, q.name AS queue_name, q.tags AS queue_tags, q.keep_bodies
    FROM chosen c
    JOIN queues_queue q ON q.id = c.queue_id
    CROSS JOIN LATERAL (
        SELECT queue_id, index FROM delivery_message
        WHERE queue_id = c.queue_id AND index >= c.index AND index <= c.index
          AND state + 0 IN (:READY, :DELAYED)
          AND (poster = c.session
               OR EXISTS (SELECT FROM clients_session s WHERE s.id = poster AND s.key_id = c.key))
        ORDER BY index
        LIMIT 1
        FOR UPDATE SKIP LOCKED
    ) m
), ended AS (
    DELETE FROM delivery_message m
    USING locked l
    WHERE m.queue_id = ANY (ARRAY[l.queue_id]) AND m.index = ANY (ARRAY[l.index])
    RETURNING l.place, l.queue_name, l.queue_tags, m.queue_id, m.sequence, m.index, m.attempts,
              m.priority, m.posted_at, m.assigned_at, m.holder, m.poster,
              :DROPPED AS outcome, :BY_POSTER AS reason, m.last_client AS client, m.last_error AS error,
              octet_length(m.body) AS size, CASE WHEN l.keep_bodies THEN m.body END AS kept_body,
              CASE WHEN l.keep_bodies THEN :KEPT_EXTRAS END AS kept_extras
), :JOURNALLED, :COUNTED
SELECT place, queue_id, sequence, index FROM ended
