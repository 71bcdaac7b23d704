-- journal_days: the partitions of the journal that hold a day each.
SELECT c.relname, to_date(right(c.relname, 8), 'YYYYMMDD') AS day
FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
WHERE i.inhparent = 'delivery_journal'::regclass AND c.relname ~ '^delivery_journal_[0-9]{8}$'
ORDER BY day
