-- reprioritise: an operator gives waiting messages another priority; they keep their index and their age.
-- Runs on: the message's primary key (state + 0: so that no other index fits).
-- Shape: guarded by state and ID. What somebody else is just taking is skipped.
WITH locked AS MATERIALIZED (
    SELECT c.place, m.queue_id, m.index
    FROM unnest(%(queue_id)b::bigint[], %(sequence)b::bigint[], %(index)b::bigint[])
         WITH ORDINALITY AS c (queue_id, sequence, index, place)
    JOIN delivery_message m ON m.queue_id = ANY (ARRAY[c.queue_id]) AND m.index = ANY (ARRAY[c.index])
    WHERE m.state + 0 IN (:READY, :DELAYED, :BEHIND) AND m.sequence = c.sequence
    FOR UPDATE OF m SKIP LOCKED
), ended AS (
    UPDATE delivery_message m
    SET priority = %(priority)s
    FROM locked l
    WHERE m.queue_id = ANY (ARRAY[l.queue_id]) AND m.index = ANY (ARRAY[l.index])
    RETURNING l.place, m.queue_id, m.group_key
), :GROUPS_TOUCHED
SELECT place, queue_id FROM ended
