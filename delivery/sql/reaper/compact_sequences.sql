-- compact_sequences: many small rows of free IDs become one, in queues that have gathered too many.
-- Runs on: free_sequences_of_queue.
WITH crowded AS (
    SELECT queue_id FROM delivery_freesequences GROUP BY queue_id HAVING count(*) > %(rows)s
), taken AS (
    DELETE FROM delivery_freesequences
    WHERE id IN (
        SELECT f.id
        FROM crowded c
        CROSS JOIN LATERAL (
            SELECT id FROM delivery_freesequences
            WHERE queue_id = c.queue_id ORDER BY queue_id, id LIMIT %(limit)s FOR UPDATE SKIP LOCKED
        ) f
    )
    RETURNING queue_id, sequences
), merged AS (
    INSERT INTO delivery_freesequences (queue_id, sequences)
    SELECT t.queue_id, array_agg(s.sequence)
    FROM taken t CROSS JOIN LATERAL unnest(t.sequences) AS s (sequence)
    GROUP BY t.queue_id
)
SELECT count(*) FROM taken
