-- touch_groups: messages of these groups have gone, by another statement of the same transaction (_groups_touched.sql).
-- Runs on: nothing; it only writes.
INSERT INTO delivery_touchedgroup (queue_id, group_key)
SELECT DISTINCT queue_id, group_key
FROM unnest(%(queue_id)b::bigint[], %(group_key)b::text[]) AS t (queue_id, group_key)
