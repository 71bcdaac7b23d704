-- lock_services: until commit nobody else changes the lines of these services.
-- Runs on: no table; advisory locks of their own class, because the rows of queues are held by posts until these have
-- reached the disk.
-- Shape: a statement of its own, so that the one after it sees all that was committed before the locks were granted.
-- The caller sorts the queues: two batches over the same ones cannot deadlock.
SELECT pg_advisory_xact_lock(%(lock_class)s::int, (queue_id %% 2147483647)::int)
FROM unnest(%(queue_id)b::bigint[]) AS queue_id
