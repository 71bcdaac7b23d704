-- named: every queue of a name.
-- Runs on: queue_name_and_tags_digest.
SELECT * FROM queues_queue WHERE name = %(name)s::varchar ORDER BY id
