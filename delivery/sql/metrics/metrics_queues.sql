-- metrics_queues: how the queues are doing, those with most messages one by one and all others in a last row for each kind.
-- Runs on: message_claimed and message_delayed as a whole, which hold nothing else; the message's primary key once for
-- each queue that holds messages.
-- Shape: claims are read in the order of their index, or the planner might walk over all messages for their groups.
-- Live messages are not counted but known (see live_counts.sql). At a scrape's pace, with a timeout.
WITH ended AS (
    SELECT queue_id, sum(messages)::bigint AS messages FROM delivery_endedcount GROUP BY queue_id
), claimed AS (
    SELECT queue_id, count(*) AS messages
    FROM (SELECT queue_id FROM delivery_message WHERE lease_until IS NOT NULL ORDER BY queue_id, holder, lease_until OFFSET 0) m
    GROUP BY queue_id
), delayed AS (
    SELECT queue_id, count(*) AS messages FROM delivery_message WHERE state = :DELAYED GROUP BY queue_id
), readers AS (
    SELECT r.key::bigint AS queue_id, sum(r.value::int) AS sessions
    FROM clients_node n CROSS JOIN LATERAL jsonb_each_text(n.readers) r
    WHERE n.heartbeat_at > now() - %(lapse)s * interval '1 second'
    GROUP BY r.key
), counted AS (
    SELECT q.id, q.name, q.tags, q.paused,
           CASE
               WHEN right(q.name, length(:DEAD_SUFFIX)) = :DEAD_SUFFIX THEN 'dead'
               WHEN left(q.name, length(:SERVICE_PREFIX)) = :SERVICE_PREFIX THEN 'service'
               ELSE q.kind
           END AS kind,
           n.newest_index, n.newest_index - coalesce(ended.messages, 0) AS live,
           coalesce(claimed.messages, 0) AS in_flight, coalesce(delayed.messages, 0) AS delayed,
           coalesce(readers.sessions, 0) AS consumers
    FROM queues_queue q
    JOIN queues_counter n ON n.queue_id = q.id
    LEFT JOIN ended ON ended.queue_id = q.id
    LEFT JOIN claimed ON claimed.queue_id = q.id
    LEFT JOIN delayed ON delayed.queue_id = q.id
    LEFT JOIN readers ON readers.queue_id = q.id
), placed AS (
    SELECT *, least(row_number() OVER (ORDER BY live DESC, id), %(most)s + 1) AS place FROM counted
)
SELECT place, kind, min(id) AS shard, min(name) AS name, min(array_to_string(tags, ',')) AS tags, count(*) AS queues,
       sum(live - in_flight - delayed)::bigint AS ready, sum(delayed)::bigint AS delayed,
       sum(in_flight)::bigint AS in_flight, sum(newest_index)::bigint AS posted,
       sum(newest_index - live)::bigint AS ended, sum(consumers)::bigint AS consumers,
       count(*) FILTER (WHERE paused) AS paused, max(oldest.age) AS oldest_age
FROM placed
LEFT JOIN LATERAL (
    SELECT extract(epoch FROM now() - posted_at)::float8 AS age
    FROM delivery_message WHERE queue_id = placed.id ORDER BY index LIMIT 1
) oldest ON placed.live > 0
GROUP BY place, kind
ORDER BY place, kind
