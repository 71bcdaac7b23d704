-- rehearsal_queue: a queue that exists only inside of the transaction of a rehearsal, which is rolled back.
-- Runs on: nothing; it only writes.
-- Shape: as `define` makes one, without a look at the other queues: those may be many.
INSERT INTO queues_queue (
    name, tags, kind, retry_limit, heartbeat_timeout, retry_delay, retry_backoff, retry_delay_max, max_length, overflow,
    updatable, keep_bodies, retention_seconds, retention_count, retention_acked,
    group_in_flight, max_in_flight, rate, burst, keep_replies
)
VALUES (
    %(name)s::varchar, %(tags)s::text[], %(kind)s, %(retry_limit)s, %(heartbeat_timeout)s, %(retry_delay)s,
    %(retry_backoff)s, %(retry_delay_max)s, %(max_length)s, %(overflow)s, %(updatable)s, %(keep_bodies)s,
    %(retention_seconds)s, %(retention_count)s, %(retention_acked)s,
    %(group_in_flight)s, %(max_in_flight)s, %(rate)s, %(burst)s, %(keep_replies)s
)
RETURNING *
