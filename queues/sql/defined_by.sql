-- defined_by: how many queues somebody has defined.
-- Runs on: queue_of_definer.
SELECT count(*) FROM queues_queue WHERE definer = %(definer)s::bigint
