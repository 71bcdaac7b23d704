-- define: make a queue unless name + tags exist already; either way it comes back, with `created` saying which.
-- Runs on: queue_name_and_tags_digest.
-- Shape: no row comes back when somebody else is just making the same queue (it is not visible yet: ask again),
-- or when there are too many queues. Counting them takes longer than all else: whoever makes many has counted before, and
-- says whether there is room (`has_room`). What it makes is flushed, whatever its caller's transaction asks for: nodes
-- remember queues by their numbers, which must not be given again after a crash.
WITH made AS (
    INSERT INTO queues_queue (
        name, tags, kind, retry_limit, heartbeat_timeout, retry_delay, retry_backoff, retry_delay_max, max_length,
        overflow, updatable, keep_bodies, retention_seconds, retention_count, retention_acked,
        group_in_flight, max_in_flight, rate, burst, keep_replies, definer
    )
    SELECT %(name)s::varchar, %(tags)s::text[], %(kind)s, %(retry_limit)s, %(heartbeat_timeout)s, %(retry_delay)s,
           %(retry_backoff)s, %(retry_delay_max)s, %(max_length)s, %(overflow)s, %(updatable)s, %(keep_bodies)s,
           %(retention_seconds)s, %(retention_count)s, %(retention_acked)s,
           %(group_in_flight)s, %(max_in_flight)s, %(rate)s, %(burst)s, %(keep_replies)s, %(definer)s::bigint
    WHERE NOT EXISTS (
        SELECT FROM queues_queue
        WHERE name = %(name)s::varchar AND willow_tags_digest(tags) = willow_tags_digest(%(tags)s::text[])
    )
      AND CASE WHEN %(has_room)s::boolean IS NULL THEN (SELECT count(*) FROM queues_queue) < %(most_queues)s
               ELSE %(has_room)s::boolean END
    ON CONFLICT (name, willow_tags_digest(tags)) DO NOTHING
    RETURNING *
), tagged AS (
    INSERT INTO queues_tag (name)
    SELECT DISTINCT tag FROM made CROSS JOIN LATERAL unnest(tags) AS tag
    ON CONFLICT (name) DO NOTHING
)
SELECT *, set_config('synchronous_commit', 'on', true) = 'on' AS created FROM made
UNION ALL
SELECT *, false FROM queues_queue
WHERE name = %(name)s::varchar AND willow_tags_digest(tags) = willow_tags_digest(%(tags)s::text[])
