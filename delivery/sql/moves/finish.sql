-- finish: end claims that their holders completed; write the journal, count them, leave notices for other nodes.
-- Runs on: the message's primary key (IS NOT DISTINCT FROM keeps the planner from message_claimed, which would
-- walk over all that a busy client holds once for each message).
-- Shape: guarded by state, holder, ID and, where the client sent it, attempt; a row that does not come back was not
-- the caller's to end.
WITH ending AS (
    SELECT * FROM unnest(
        %(queue_id)b::bigint[], %(sequence)b::bigint[], %(index)b::bigint[], %(holder)b::bigint[],
        %(attempt)b::bigint[], %(client)b::text[], %(reply)b::bytea[]
    ) WITH ORDINALITY AS e (queue_id, sequence, index, holder, attempt, client, reply, place)
), ended AS (
    DELETE FROM delivery_message m
    USING ending e JOIN queues_queue q ON q.id = e.queue_id
    WHERE m.queue_id = ANY (ARRAY[e.queue_id]) AND m.index = ANY (ARRAY[e.index])
      AND m.state = :CLAIMED AND m.holder IS NOT DISTINCT FROM e.holder AND m.sequence = e.sequence
      AND (e.attempt IS NULL OR m.attempts = e.attempt)
    RETURNING e.place, e.client, e.reply, q.name AS queue_name, q.tags AS queue_tags,
              m.queue_id, m.sequence, m.index, m.attempts, m.priority, m.posted_at, m.assigned_at,
              m.poster, m.poster_node, m.label, m.notify, m.holder,
              %(outcome)s AS outcome, NULL AS reason, NULL AS error, octet_length(m.body) AS size,
              CASE WHEN q.keep_bodies THEN m.body END AS kept_body,
              CASE WHEN q.keep_bodies THEN :KEPT_EXTRAS END AS kept_extras
), :JOURNALLED, :COUNTED, noticed AS (
    INSERT INTO delivery_pendingnotice (session_id, stage, label, queue_id, queue_name, sequence, index, reply, notify)
    SELECT poster, :STAGE_FINISH, label, queue_id,
           CASE WHEN notify & (:NAMED_SEVERAL | :REQUEST) > 0 THEN queue_name END, sequence, index, reply, notify
    FROM ended
    WHERE notify & :NOTIFY_FINISH > 0 AND poster_node <> %(node)s
)
SELECT place, queue_id, sequence, index, poster, poster_node, label, notify FROM ended
