-- retry_now: an operator makes delayed messages ready before their time.
-- Runs on: the message's primary key (state + 0: so that no other index fits).
-- Shape: guarded by state and ID. What somebody else is just moving is skipped.
WITH locked AS MATERIALIZED (
    SELECT c.place, m.queue_id, m.index
    FROM unnest(%(queue_id)b::bigint[], %(sequence)b::bigint[], %(index)b::bigint[])
         WITH ORDINALITY AS c (queue_id, sequence, index, place)
    JOIN delivery_message m ON m.queue_id = ANY (ARRAY[c.queue_id]) AND m.index = ANY (ARRAY[c.index])
    WHERE m.state + 0 = :DELAYED AND m.sequence = c.sequence
    FOR UPDATE OF m SKIP LOCKED
), ended AS (
    UPDATE delivery_message m
    SET state = CASE WHEN m.group_key IS NULL OR m.attempts > 0 THEN :READY ELSE :BEHIND END, available_at = NULL
    FROM locked l
    WHERE m.queue_id = ANY (ARRAY[l.queue_id]) AND m.index = ANY (ARRAY[l.index])
    RETURNING l.place, m.queue_id, m.group_key
), :GROUPS_TOUCHED
SELECT place, queue_id FROM ended
