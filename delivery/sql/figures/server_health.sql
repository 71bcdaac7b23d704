-- server_health: the server and this database.
SELECT current_setting('server_version') AS version, pg_postmaster_start_time() AS started_at,
       pg_database_size(d.datname) AS bytes,
       (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend')::int AS connections,
       current_setting('max_connections')::int AS most_connections,
       d.blks_hit::float8 / nullif(d.blks_hit + d.blks_read, 0) AS hit_share,
       d.xact_rollback AS rolled_back, d.deadlocks,
       (SELECT age(datfrozenxid) FROM pg_database WHERE datname = d.datname) AS oldest_transactions
FROM pg_stat_database d WHERE d.datname = current_database()
