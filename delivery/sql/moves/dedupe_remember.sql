-- dedupe_remember: from now on, and for a while, these texts stand for these messages.
-- Runs on: delivery_dedupevalue's primary key.
INSERT INTO delivery_dedupevalue (queue_id, value, sequence, index, until)
SELECT queue_id, value, sequence, index, now() + %(seconds)s * interval '1 second'
FROM unnest(%(queue_id)b::bigint[], %(value)b::text[], %(sequence)b::bigint[], %(index)b::bigint[])
     AS w (queue_id, value, sequence, index)
ON CONFLICT (queue_id, value)
DO UPDATE SET sequence = EXCLUDED.sequence, index = EXCLUDED.index, until = EXCLUDED.until
