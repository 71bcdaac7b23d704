-- placed: who is `arriving`, with index and ID, and with who takes it at once.
placed AS (
    SELECT a.*, q.kind, c.index_before + a.number AS index,
           CASE WHEN c.are_free THEN coalesce(a.sequence, c.fresh_offset + a.fresh)
                ELSE c.fresh_offset + a.number END AS id,
           CASE WHEN a.index_before = c.index_before AND NOT q.paused THEN a.holder END AS taker,
           coalesce(a.work_timeout, q.heartbeat_timeout) AS lease
    FROM arriving a
    JOIN advanced c ON c.queue_id = a.queue_id
    JOIN queues_queue q ON q.id = c.queue_id
)
