-- drop: an operator removes messages; those that somebody holds only if that is forced, when their queue goes too.
-- Runs on: the message's primary key (state + 0: so that no other index fits).
-- Shape: guarded by state and ID. What somebody else is just taking is skipped.
WITH chosen AS (
    SELECT * FROM unnest(%(queue_id)b::bigint[], %(sequence)b::bigint[], %(index)b::bigint[])
                  WITH ORDINALITY AS c (queue_id, sequence, index, place)
), locked AS MATERIALIZED (
    SELECT c.place, m.queue_id, m.index, q.name AS queue_name, q.tags AS queue_tags, q.keep_bodies
    FROM chosen c
    JOIN delivery_message m ON m.queue_id = ANY (ARRAY[c.queue_id]) AND m.index = ANY (ARRAY[c.index])
    JOIN queues_queue q ON q.id = c.queue_id
    WHERE (m.state + 0 IN (:READY, :DELAYED, :RETAINED) OR %(forced)s::boolean)
      AND m.sequence = c.sequence
    FOR UPDATE OF m SKIP LOCKED
), ended AS (
    DELETE FROM delivery_message m
    USING locked l
    WHERE m.queue_id = ANY (ARRAY[l.queue_id]) AND m.index = ANY (ARRAY[l.index])
    RETURNING l.place, l.queue_name, l.queue_tags, m.queue_id, m.sequence, m.index, m.attempts,
              m.priority, m.posted_at, m.assigned_at, m.holder, m.poster, m.poster_node, m.label, m.notify,
              :DROPPED AS outcome, :BY_OPERATOR AS reason, m.last_client AS client, m.last_error AS error,
              octet_length(m.body) AS size, CASE WHEN l.keep_bodies THEN m.body END AS kept_body,
              CASE WHEN l.keep_bodies THEN :KEPT_EXTRAS END AS kept_extras
), :JOURNALLED, :COUNTED, :DROP_NOTICED
SELECT place, queue_id, sequence, index, holder, poster, poster_node, label, notify FROM ended
