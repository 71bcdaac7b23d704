-- journal_sizes: how many bytes each day of the journal takes, newest first.
SELECT to_date(substring(c.relname FROM '[0-9]{8}$'), 'YYYYMMDD') AS day, pg_total_relation_size(c.oid) AS bytes,
       greatest(c.reltuples, 0)::bigint AS rows
FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
WHERE i.inhparent = 'delivery_journal'::regclass AND c.relname ~ '_[0-9]{8}$'
ORDER BY 1 DESC
LIMIT %(most)s
