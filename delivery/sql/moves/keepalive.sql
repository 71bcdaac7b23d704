-- keepalive: the claims named here start their time again from zero.
-- Runs on: the message's primary key (IS NOT DISTINCT FROM: see finish.sql).
UPDATE delivery_message m
SET lease_until = now() + m.work_timeout * interval '1 second'
FROM unnest(
    %(queue_id)b::bigint[], %(sequence)b::bigint[], %(index)b::bigint[], %(holder)b::bigint[],
    %(attempt)b::bigint[]
) WITH ORDINALITY AS k (queue_id, sequence, index, holder, attempt, place)
WHERE m.queue_id = ANY (ARRAY[k.queue_id]) AND m.index = ANY (ARRAY[k.index])
  AND m.state = :CLAIMED AND m.holder IS NOT DISTINCT FROM k.holder AND m.sequence = k.sequence
  AND (k.attempt IS NULL OR m.attempts = k.attempt)
RETURNING k.place
