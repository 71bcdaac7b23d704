-- finish_one: end a single claim, as finish.sql does with a batch. On a quiet broker most batches hold one.
-- Runs on: the message's primary key (IS NOT DISTINCT FROM: see finish.sql); queues_queue's primary key.
WITH ended AS (
    DELETE FROM delivery_message m
    USING queues_queue q
    WHERE q.id = %(queue_id)s AND m.queue_id = %(queue_id)s AND m.index = %(index)s
      AND m.state = :CLAIMED AND m.holder IS NOT DISTINCT FROM %(holder)s
      AND m.sequence = %(sequence)s
      AND (%(attempt)s::bigint IS NULL OR m.attempts = %(attempt)s::bigint)
    RETURNING %(client)s::text AS client, q.name AS queue_name, q.tags AS queue_tags,
              m.queue_id, m.sequence, m.index, m.attempts, m.priority, m.posted_at, m.assigned_at,
              m.poster, m.poster_node, m.label, m.notify, m.holder,
              %(outcome)s AS outcome, NULL AS reason, NULL AS error, octet_length(m.body) AS size,
              CASE WHEN q.keep_bodies THEN m.body END AS kept_body,
              CASE WHEN q.keep_bodies THEN :KEPT_EXTRAS END AS kept_extras
), :JOURNALLED, :COUNTED, noticed AS (
    INSERT INTO delivery_pendingnotice (session_id, stage, label, queue_id, queue_name, sequence, index, reply, notify)
    SELECT poster, :STAGE_FINISH, label, queue_id,
           CASE WHEN notify & (:NAMED_SEVERAL | :REQUEST) > 0 THEN queue_name END, sequence, index, %(reply)b::bytea,
           notify
    FROM ended
    WHERE notify & :NOTIFY_FINISH > 0 AND poster_node <> %(node)s
)
SELECT 1::bigint AS place, queue_id, sequence, index, poster, poster_node, label, notify FROM ended
