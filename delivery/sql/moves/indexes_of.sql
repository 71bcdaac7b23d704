-- indexes_of: the indexes of messages that somebody names only by their IDs.
-- Runs on: the message's primary key, once for each message, from the oldest of its queue on.
-- Shape: no index leads to an ID, which only people name without the index: so many messages of the queue are looked at,
-- and no more.
SELECT w.place, m.index
FROM unnest(%(queue_id)b::bigint[], %(sequence)b::bigint[]) WITH ORDINALITY AS w (queue_id, sequence, place)
CROSS JOIN LATERAL (
    SELECT o.index
    FROM (
        SELECT index, sequence FROM delivery_message WHERE queue_id = w.queue_id ORDER BY index LIMIT %(looked_at)s
    ) o
    WHERE o.sequence = w.sequence
    LIMIT 1
) m
