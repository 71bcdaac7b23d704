-- take_touched_groups: groups of which something has gone, come or changed, for arrange_groups.sql in the same transaction.
-- Runs on: delivery_touchedgroup's primary key, from the oldest on.
WITH taken AS (
    DELETE FROM delivery_touchedgroup
    WHERE id = ANY (ARRAY(SELECT id FROM delivery_touchedgroup ORDER BY id LIMIT %(limit)s FOR UPDATE SKIP LOCKED))
    RETURNING queue_id, group_key
)
SELECT DISTINCT queue_id, group_key FROM taken
