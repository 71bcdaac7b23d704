-- defined_by: how many queues somebody has defined.
-- Runs on: queue_of_definer.
SELECT CASE WHEN %(definer)s::bigint IS NULL THEN (SELECT count(*) FROM queues_queue WHERE definer IS NULL)
            ELSE (SELECT count(*) FROM queues_queue WHERE definer = %(definer)s::bigint) END
