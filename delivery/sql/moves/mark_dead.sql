-- mark_dead: write on dead letters where they came from, right after they were posted to their dead letter queue.
-- Runs on: the message's primary key.
UPDATE delivery_message m
SET origin_queue_id = d.origin_queue_id, origin_index = d.origin_index, origin_attempts = d.origin_attempts,
    dead_reason = d.reason, last_error = d.error, last_client = d.client, died_at = now(),
    poster_key = coalesce(d.poster_key, m.poster_key)
FROM unnest(
    %(queue_id)b::bigint[], %(index)b::bigint[], %(origin_queue_id)b::bigint[], %(origin_index)b::bigint[],
    %(origin_attempts)b::bigint[], %(reason)b::text[], %(error)b::text[], %(client)b::text[],
    %(poster_key)b::bigint[]
) AS d (queue_id, index, origin_queue_id, origin_index, origin_attempts, reason, error, client, poster_key)
WHERE m.queue_id = ANY (ARRAY[d.queue_id]) AND m.index = ANY (ARRAY[d.index])
