-- oldest_snapshots: whose transactions keep dead rows from being removed, longest first.
-- Shape: `backend_xmin` is the oldest transaction that a session may still want to see; its age in transactions is what
-- vacuum has to leave alone.
SELECT pid, usename AS "user", application_name AS application, coalesce(client_addr::text, 'local') AS address, state,
       greatest(extract(epoch FROM clock_timestamp() - xact_start), 0)::float8 AS seconds, age(backend_xmin) AS transactions,
       left(query, 200) AS query
FROM pg_stat_activity
WHERE datname = current_database() AND backend_xmin IS NOT NULL AND xact_start IS NOT NULL AND pid <> pg_backend_pid()
ORDER BY xact_start
LIMIT %(most)s
