-- dedupe_seen: which of these texts were posted lately, and the messages that came of them.
-- Runs on: delivery_dedupevalue's primary key.
-- Shape: the caller holds the queues locked, so what is not here now will not come before its commit.
SELECT d.queue_id, d.value, d.sequence, d.index
FROM unnest(%(queue_id)b::bigint[], %(value)b::text[]) AS w (queue_id, value)
JOIN delivery_dedupevalue d ON d.queue_id = w.queue_id AND d.value = w.value
WHERE d.until > now()
