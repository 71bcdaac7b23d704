-- active_reaper: who holds the reaper's lock, and how many others wait for it.
SELECT a.pid, a.application_name AS application, coalesce(a.client_addr::text, 'local') AS address,
       a.backend_start AS connected_at,
       (SELECT count(*) FROM pg_stat_activity w
        WHERE w.datname = current_database() AND w.application_name = a.application_name AND w.pid <> a.pid) AS waiting
FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
WHERE l.locktype = 'advisory' AND l.granted AND l.database = a.datid AND a.datname = current_database()
  AND l.classid::bigint << 32 | l.objid::bigint = %(lock)s
