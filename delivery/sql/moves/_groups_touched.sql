-- groups_touched: messages of groups have gone, come or changed; which of their groups may go now is decided once this is
-- committed (settle_groups in moves/groups.py), by whoever did it or else by the reaper.
groups_touched AS (
    INSERT INTO delivery_touchedgroup (queue_id, group_key)
    SELECT DISTINCT queue_id, group_key FROM ended WHERE group_key IS NOT NULL
)
