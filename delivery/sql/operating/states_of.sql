-- states_of: how messages are that an operator's statement did not move, to say why.
-- Runs on: the message's primary key.
SELECT c.place, m.state, m.notify
FROM unnest(%(queue_id)b::bigint[], %(sequence)b::bigint[], %(index)b::bigint[])
     WITH ORDINALITY AS c (queue_id, sequence, index, place)
JOIN delivery_message m ON m.queue_id = ANY (ARRAY[c.queue_id]) AND m.index = ANY (ARRAY[c.index])
WHERE m.sequence = c.sequence
