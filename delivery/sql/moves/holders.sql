-- holders: which of these messages somebody holds, to tell "not claimed" from "claimed by somebody else". The claim of
-- another attempt than the one that was named is none.
-- Runs on: the message's primary key; for messages that were named without their index, message_claimed.
-- Shape: whoever holds a message knows its index, so it is others who name one without: for them so many claims of the
-- queue are looked at, and no more.
SELECT w.place
FROM unnest(%(queue_id)b::bigint[], %(sequence)b::bigint[], %(index)b::bigint[], %(attempt)b::bigint[])
     WITH ORDINALITY AS w (queue_id, sequence, index, attempt, place)
CROSS JOIN LATERAL (
    SELECT m.sequence, m.attempts FROM delivery_message m
    WHERE m.queue_id = ANY (ARRAY[w.queue_id]) AND m.index = ANY (ARRAY[w.index]) AND m.state = :CLAIMED
    UNION ALL
    (SELECT sequence, attempts FROM delivery_message
     WHERE w.index IS NULL AND queue_id = w.queue_id AND lease_until IS NOT NULL
     ORDER BY holder, lease_until LIMIT %(looked_at)s)
) m
WHERE m.sequence = w.sequence AND (w.attempt IS NULL OR m.attempts = w.attempt)
