-- drop_oldest: make room in full queues by removing the oldest messages that nobody holds. The newest one stays, also
-- where all others are held: a post must not fall to the room that it asks for itself.
-- Runs on: message_index_once_per_queue, from the oldest on; the message's primary key.
WITH excess AS (
    SELECT * FROM unnest(%(queue_id)b::bigint[], %(messages)b::bigint[]) AS e (queue_id, messages)
), oldest AS MATERIALIZED (
    SELECT m.queue_id, m.sequence, q.name AS queue_name, q.tags AS queue_tags
    FROM excess e
    JOIN queues_queue q ON q.id = e.queue_id
    CROSS JOIN LATERAL (
        SELECT queue_id, sequence FROM delivery_message
        WHERE queue_id = e.queue_id AND index > 0 AND index < q.newest_index AND state IN (0, 1, 3)
        ORDER BY index
        LIMIT e.messages
        FOR UPDATE SKIP LOCKED
    ) m
), ended AS (
    DELETE FROM delivery_message m
    USING oldest o
    WHERE m.queue_id = ANY (ARRAY[o.queue_id]) AND m.sequence = ANY (ARRAY[o.sequence])
    RETURNING o.queue_name, o.queue_tags, m.queue_id, m.sequence, m.index, m.attempts, m.priority, m.posted_at,
              octet_length(m.body) AS size, m.poster, m.poster_node, m.label, m.notify
), journalled AS (
    INSERT INTO delivery_journal (queue_id, queue_name, queue_tags, index, outcome, reason, attempt, priority, poster,
                                  node, posted_at, size)
    SELECT queue_id, queue_name, queue_tags, index, 'dropped', 'overflow', attempts, priority, poster,
           %(node_name)s, posted_at, size
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
SELECT queue_id, sequence, index, poster, poster_node, label, notify FROM ended
