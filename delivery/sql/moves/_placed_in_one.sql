-- placed_in_one: who arrives at a single queue, with index and ID, and with who takes it at once. It ends within its last
-- arrays, to which a statement adds those that it has beside these.
SELECT a.*, c.queue_id, q.kind, c.index_before + a.place AS index,
           CASE WHEN c.are_free AND a.sequence > 0 THEN a.sequence
                WHEN c.are_free THEN c.fresh_offset - a.sequence
                ELSE c.fresh_offset + a.place END AS id,
           CASE WHEN a.index_before = c.index_before AND NOT q.paused
                     AND q.max_in_flight IS NULL AND q.rate IS NULL THEN a.holder END AS taker,
           coalesce(a.work_timeout, q.heartbeat_timeout) AS lease
    FROM advanced c
    JOIN queues_queue q ON q.id = c.queue_id
    CROSS JOIN unnest(
        %(sequence)b::bigint[], %(priority)b::bigint[], %(body)b::bytea[], %(delay)b::float8[], %(ttl)b::float8[],
        %(key)b::text[], %(poster)b::bigint[], %(label)b::bigint[], %(notify)b::bigint[], %(work_timeout)b::float8[],
        %(holder)b::bigint[], %(index_before)b::bigint[]
