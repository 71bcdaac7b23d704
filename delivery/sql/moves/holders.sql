-- holders: who holds these messages, to tell "not claimed" from "claimed by somebody else". The claim of another
-- attempt than the one that was named is none.
-- Runs on: the message's primary key.
SELECT w.place
FROM unnest(%(queue_id)b::bigint[], %(sequence)b::bigint[], %(index)b::bigint[], %(attempt)b::bigint[])
     WITH ORDINALITY AS w (queue_id, sequence, index, attempt, place)
JOIN delivery_message m ON m.queue_id = ANY (ARRAY[w.queue_id]) AND m.sequence = ANY (ARRAY[w.sequence])
WHERE m.state = :CLAIMED AND (w.index IS NULL OR m.index = w.index)
  AND (w.attempt IS NULL OR m.attempts = w.attempt)
