-- finishing: the claims that `ending` names are gone, if they are who it says and nobody has ended them before.
ending AS (
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
    RETURNING e.place, e.client, e.reply, q.name AS queue_name, q.tags AS queue_tags, q.keep_replies,
              m.queue_id, m.sequence, m.index, m.attempts, m.priority, m.posted_at, m.assigned_at,
              m.poster, m.poster_key, m.poster_node, m.label, m.notify, m.holder,
              %(outcome)s AS outcome, NULL AS reason, NULL AS error, octet_length(m.body) AS size,
              CASE WHEN q.keep_bodies THEN m.body END AS kept_body,
              CASE WHEN q.keep_bodies THEN :KEPT_EXTRAS END AS kept_extras
)
