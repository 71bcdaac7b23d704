-- take_locks: advisory locks, held until the commit, in the order in which they are named.
-- Runs on: nothing. What follows in the transaction sees all that was committed before the last one was granted.
SELECT count(pg_advisory_xact_lock(one::int, other::int)) AS taken
FROM unnest(%(one)b::bigint[], %(other)b::bigint[]) AS l (one, other)
