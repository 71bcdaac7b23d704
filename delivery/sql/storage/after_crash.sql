-- after_crash: the storage may have lost what was not flushed, and with it indexes that clients have seen. Every queue
-- goes on above all that it can have given out; the indexes between count as ended.
-- Runs on: queues_counter as a whole, once after a crash.
-- Shape: queues_no_crash is unlogged, so PostgreSQL empties it when it recovers from a crash, and when a replica is
-- promoted. The caller has locked it. Counters are locked by ascending number, as everybody does.
WITH crashed AS (
    INSERT INTO queues_no_crash (since) SELECT now() WHERE NOT EXISTS (SELECT FROM queues_no_crash)
    RETURNING since
), behind AS MATERIALIZED (
    SELECT queue_id, flushed_index - newest_index AS skipped FROM queues_counter
    WHERE newest_index < flushed_index AND EXISTS (SELECT FROM crashed)
    ORDER BY queue_id
    FOR NO KEY UPDATE
), moved AS (
    UPDATE queues_counter c SET newest_index = c.flushed_index FROM behind b WHERE c.queue_id = b.queue_id
)
INSERT INTO delivery_endedcount AS e (queue_id, node_id, messages)
SELECT queue_id, 0, skipped FROM behind
ON CONFLICT (queue_id, node_id) DO UPDATE SET messages = e.messages + EXCLUDED.messages
