-- drop: an operator removes messages; those that somebody holds only if that is forced, when their queue goes too.
-- Runs on: the message's primary key (state + 0: so that no other index fits).
-- Shape: guarded by state and, where it is given, index. What somebody else is just taking is skipped.
WITH chosen AS (
    SELECT * FROM unnest(%(queue_id)b::bigint[], %(sequence)b::bigint[], %(index)b::bigint[])
                  WITH ORDINALITY AS c (queue_id, sequence, index, place)
), locked AS MATERIALIZED (
    SELECT c.place, m.queue_id, m.sequence, q.name AS queue_name, q.tags AS queue_tags, q.keep_bodies
    FROM chosen c
    JOIN delivery_message m ON m.queue_id = ANY (ARRAY[c.queue_id]) AND m.sequence = ANY (ARRAY[c.sequence])
    JOIN queues_queue q ON q.id = c.queue_id
    WHERE (m.state + 0 IN (0, 1, 3) OR %(forced)s::boolean) AND (c.index IS NULL OR m.index = c.index)
    FOR UPDATE OF m SKIP LOCKED
), ended AS (
    DELETE FROM delivery_message m
    USING locked l
    WHERE m.queue_id = ANY (ARRAY[l.queue_id]) AND m.sequence = ANY (ARRAY[l.sequence])
    RETURNING l.place, l.queue_name, l.queue_tags, l.keep_bodies, m.queue_id, m.sequence, m.index, m.attempts,
              m.priority, m.body, m.posted_at, m.assigned_at, m.holder, m.last_client, m.last_error,
              m.poster, m.poster_node, m.label, m.notify
), journalled AS (
    INSERT INTO delivery_journal (queue_id, queue_name, queue_tags, index, outcome, reason, attempt, priority, poster,
                                  holder, client, node, posted_at, assigned_at, size, error, body)
    SELECT queue_id, queue_name, queue_tags, index, 'dropped', 'operator', attempts, priority, poster,
           holder, last_client, %(node_name)s, posted_at, assigned_at, octet_length(body), last_error,
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
SELECT place, queue_id, sequence, index, holder, poster, poster_node, label, notify FROM ended
