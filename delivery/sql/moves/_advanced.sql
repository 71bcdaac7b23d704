-- advanced: the counters of the queues of all who are `arriving`, locked by ascending number and moved on.
wanted AS (
    SELECT queue_id, count(*) AS messages, count(*) - count(sequence) AS fresh, min(former) AS oldest
    FROM arriving GROUP BY queue_id
), locked AS MATERIALIZED (
    SELECT queue_id FROM queues_counter WHERE queue_id = ANY (ARRAY(SELECT queue_id FROM wanted))
    ORDER BY queue_id FOR NO KEY UPDATE
), advanced AS (
    UPDATE queues_counter c
    SET newest_index = c.newest_index + w.messages,
        next_sequence = c.next_sequence + CASE WHEN w.oldest > c.restarted_index THEN w.fresh ELSE w.messages END,
        flushed_index = CASE WHEN c.newest_index + w.messages <= c.flushed_index THEN c.flushed_index
                             WHEN set_config('synchronous_commit', 'on', true) = 'on'
                             THEN c.newest_index + w.messages + :INDEXES_AHEAD END
    FROM locked l JOIN wanted w ON w.queue_id = l.queue_id
    WHERE c.queue_id = l.queue_id
    RETURNING c.queue_id, c.newest_index - w.messages AS index_before, w.oldest > c.restarted_index AS are_free,
              c.next_sequence - CASE WHEN w.oldest > c.restarted_index THEN w.fresh ELSE w.messages END - 1 AS fresh_offset
)
