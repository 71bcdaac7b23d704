-- next_groups: the groups of a queue behind one, a bounded number, for arrange_groups.sql.
-- Runs on: message_of_group and message_behind, one step in each for each group.
WITH RECURSIVE groups (group_key, number) AS (
    SELECT %(after)s::text, 0
    UNION ALL
    SELECT least(o.group_key, b.group_key), g.number + 1
    FROM groups g
    LEFT JOIN LATERAL (
        SELECT group_key FROM delivery_message
        WHERE queue_id = %(queue_id)s AND group_key > g.group_key
          AND state <> :BEHIND AND (state <> :DELAYED OR attempts > 0)
        ORDER BY group_key LIMIT 1
    ) o ON true
    LEFT JOIN LATERAL (
        SELECT group_key FROM delivery_message
        WHERE queue_id = %(queue_id)s AND group_key > g.group_key AND state = :BEHIND
        ORDER BY group_key LIMIT 1
    ) b ON true
    WHERE g.number < %(limit)s AND least(o.group_key, b.group_key) IS NOT NULL
)
SELECT %(queue_id)s::bigint AS queue_id, group_key FROM groups WHERE number > 0 ORDER BY number
