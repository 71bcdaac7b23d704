-- table_health: size, dead rows and vacuum of Willow's tables, largest first. Partitions count for their whole.
SELECT coalesce(parent.relname, t.relname) AS name,
       sum(pg_total_relation_size(t.relid))::bigint AS bytes,
       sum(t.n_live_tup)::bigint AS live_rows, sum(t.n_dead_tup)::bigint AS dead_rows,
       max(greatest(t.last_vacuum, t.last_autovacuum)) AS last_vacuum,
       max(greatest(t.last_analyze, t.last_autoanalyze)) AS last_analyze,
       sum(t.vacuum_count + t.autovacuum_count)::bigint AS vacuums,
       sum(t.n_tup_hot_upd)::float8 / nullif(sum(t.n_tup_upd), 0) AS hot_share
FROM pg_stat_user_tables t
LEFT JOIN pg_inherits i ON i.inhrelid = t.relid
LEFT JOIN pg_class parent ON parent.oid = i.inhparent
WHERE coalesce(parent.relname, t.relname) ~ '^(queues|clients|delivery|willow|django|auth|console)_'
GROUP BY 1
ORDER BY bytes DESC
