-- changed: the queues that were defined or changed within the last seconds.
-- Runs on: queue_changed.
SELECT * FROM queues_queue WHERE changed_at > now() - %(seconds)s * interval '1 second'
