-- active_readers: sessions of this database that are not the broker's own: analysts, the pipeline, people with a shell.
-- Shape: the console's own connections have the name that DATABASE_URL gives them, as the one has that asks.
SELECT pid, usename AS "user", application_name AS application, coalesce(client_addr::text, 'local') AS address, state,
       backend_start AS connected_at, extract(epoch FROM now() - xact_start)::float8 AS seconds, left(query, 200) AS query
FROM pg_stat_activity
WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()
  AND (usename <> current_user
       OR application_name !~ '^(willow|$)' AND application_name <> current_setting('application_name'))
ORDER BY xact_start NULLS LAST, backend_start
LIMIT %(most)s
