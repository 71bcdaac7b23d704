-- counted: how many messages of each queue have ended is known without counting those that live (live_counts.sql).
-- Rows of several queues are locked in the order of these.
counted AS (
    INSERT INTO delivery_endedcount AS e (queue_id, node_id, messages)
    SELECT queue_id, coalesce(%(node)s::bigint, 0), count(*) FROM ended GROUP BY queue_id ORDER BY queue_id
    ON CONFLICT (queue_id, node_id) DO UPDATE SET messages = e.messages + EXCLUDED.messages
)
