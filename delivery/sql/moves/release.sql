-- release: claims that their holders give back without having begun: ready again at their old place, as if they had
-- not been handed out.
-- Runs on: the message's primary key (IS NOT DISTINCT FROM: see finish.sql).
-- Shape: guarded as finish.sql is. The attempt does not count, so there is no row in the journal and no notice; when it
-- was the first, nothing is known of an assignment any more. A request keeps its time, which its frontend chose.
WITH ended AS (
    UPDATE delivery_message m
    SET state = :READY, attempts = m.attempts - 1, holder = NULL, lease_until = NULL,
        assigned_at = CASE WHEN m.attempts > 1 THEN m.assigned_at END,
        work_timeout = CASE WHEN m.notify & :REQUEST > 0 THEN m.work_timeout END
    FROM unnest(
        %(queue_id)b::bigint[], %(sequence)b::bigint[], %(index)b::bigint[], %(holder)b::bigint[],
        %(attempt)b::bigint[]
    ) WITH ORDINALITY AS r (queue_id, sequence, index, holder, attempt, place)
    WHERE m.queue_id = ANY (ARRAY[r.queue_id]) AND m.index = ANY (ARRAY[r.index])
      AND m.state = :CLAIMED AND m.holder IS NOT DISTINCT FROM r.holder AND m.sequence = r.sequence
      AND (r.attempt IS NULL OR m.attempts = r.attempt)
    RETURNING r.place, m.queue_id, m.group_key
), :GROUPS_TOUCHED
SELECT place, queue_id, group_key FROM ended
