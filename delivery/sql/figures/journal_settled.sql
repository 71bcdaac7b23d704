-- journal_settled: up to which transaction the journal is settled, and where the last so many rows before it begin.
-- Runs on: delivery_journal_tx, from its end.
SELECT settled.tx::text AS until, coalesce((
           SELECT tx FROM delivery_journal WHERE tx < settled.tx ORDER BY tx DESC OFFSET %(rows)s LIMIT 1
       ), '0'::xid8)::text AS earliest
FROM (SELECT pg_snapshot_xmin(pg_current_snapshot()) AS tx) settled
