-- remember_redriven: where redriven messages are now and what they were, as long as the redrive can be undone.
-- Runs on: no index; it only inserts.
INSERT INTO delivery_redrivenmessage (job_id, queue_id, sequence, index, dead_queue_id, origin_queue_id, origin_index,
                                      origin_attempts, reason, error, client)
SELECT %(job)s, w.* FROM unnest(
    %(queue_id)b::bigint[], %(sequence)b::bigint[], %(index)b::bigint[], %(dead_queue_id)b::bigint[],
    %(origin_queue_id)b::bigint[], %(origin_index)b::bigint[], %(origin_attempts)b::bigint[],
    %(reason)b::text[], %(error)b::text[], %(client)b::text[]
) AS w
