-- arrange_groups: of each of these groups as many messages are ready as may be claimed at a time; the others wait behind.
-- Runs on: message_of_group, which holds no more of a group than may go, and message_behind, from its head;
-- the message's primary key.
-- Shape: the caller holds the locks of these groups, so nobody else decides about them. Places are for those that somebody
-- holds, then for those that were tried before, then by priority and age. A ready message that is to make room for
-- another may just be claimed: then it is skipped, and keeps its place (`staying`). That is counted by windows and not by a
-- join: the planner expects one group, and would look through all of them once for each. Of a group without a bound all may
-- go. A part of a large group is looked at, and the rest when this is run again.
WITH touched AS (
    SELECT t.queue_id, t.group_key, q.group_in_flight AS places
    FROM unnest(%(queue_id)b::bigint[], %(group_key)b::text[]) AS t (queue_id, group_key)
    JOIN queues_queue q ON q.id = t.queue_id AND q.kind = 'work'
), members AS (
    SELECT t.queue_id, t.group_key, t.places, m.*
    FROM touched t
    CROSS JOIN LATERAL (
        SELECT * FROM (
            SELECT index, state AS was, priority * -1 AS rank,
                   CASE WHEN lease_until IS NOT NULL THEN 0 WHEN attempts > 0 THEN 1 ELSE 2 END AS turn
            FROM delivery_message
            WHERE queue_id = t.queue_id AND group_key = t.group_key
              AND state <> :BEHIND AND (state <> :DELAYED OR attempts > 0)
            LIMIT %(limit)s
        ) open
        UNION ALL
        SELECT * FROM (
            SELECT index, state AS was, priority * -1 AS rank, CASE WHEN attempts > 0 THEN 1 ELSE 2 END AS turn
            FROM delivery_message
            WHERE queue_id = t.queue_id AND group_key = t.group_key AND state = :BEHIND
            ORDER BY priority * -1, index
            LIMIT least(t.places, %(limit)s)
        ) behind
    ) m
), judged AS MATERIALIZED (
    SELECT *, places IS NULL OR row_number() OVER (PARTITION BY queue_id, group_key ORDER BY turn, rank, index) <= places
              AS may_go
    FROM members
), parked AS MATERIALIZED (
    SELECT m.queue_id, m.index, m.group_key
    FROM judged j JOIN delivery_message m ON m.queue_id = ANY (ARRAY[j.queue_id]) AND m.index = ANY (ARRAY[j.index])
    WHERE j.was = :READY AND NOT j.may_go AND m.state + 0 = :READY
    FOR UPDATE OF m SKIP LOCKED
), candidates AS (
    SELECT queue_id, group_key, turn, rank, index, 0 AS stays FROM judged WHERE was = :BEHIND AND may_go
    UNION ALL
    SELECT queue_id, group_key, NULL, NULL, NULL, 1 FROM judged WHERE was = :READY AND NOT may_go
    UNION ALL
    SELECT queue_id, group_key, NULL, NULL, NULL, -1 FROM parked
), promoted AS (
    SELECT queue_id, index
    FROM (
        SELECT queue_id, index, sum(stays) OVER (PARTITION BY queue_id, group_key) AS staying,
               row_number() OVER (PARTITION BY queue_id, group_key
                                  ORDER BY index IS NULL, turn DESC, rank DESC, index DESC) AS last
        FROM candidates
    ) c
    WHERE index IS NOT NULL AND last > staying
), changing AS (
    SELECT queue_id, index, false AS goes FROM parked
    UNION ALL
    SELECT queue_id, index, true FROM promoted
)
UPDATE delivery_message m
SET state = CASE WHEN c.goes THEN :READY ELSE :BEHIND END
FROM changing c
WHERE m.queue_id = ANY (ARRAY[c.queue_id]) AND m.index = ANY (ARRAY[c.index]) AND m.state + 0 IN (:READY, :BEHIND)
RETURNING m.queue_id, c.goes
