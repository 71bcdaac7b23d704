-- named: every queue of some names.
-- Runs on: queue_name_and_tags_digest.
SELECT * FROM queues_queue WHERE name = ANY (%(name)s::varchar[]) ORDER BY id
