-- placed_single: the counter of a single message's queue, moved on; and the message with index and ID, and with who takes
-- it at once.
advanced AS (
    UPDATE queues_counter
    SET newest_index = newest_index + 1,
        flushed_index = CASE WHEN newest_index < flushed_index THEN flushed_index
                             WHEN set_config('synchronous_commit', 'on', true) = 'on'
                             THEN newest_index + 1 + :INDEXES_AHEAD END,
        next_sequence = next_sequence + CASE WHEN %(former)s::bigint > restarted_index THEN 0 ELSE 1 END
    WHERE queue_id = %(queue_id)s::bigint
    RETURNING queue_id, newest_index AS index,
              CASE WHEN %(former)s::bigint > restarted_index THEN %(sequence)s::bigint ELSE next_sequence - 1 END AS sequence
), placed AS (
    SELECT c.queue_id, c.index, c.sequence, q.kind,
           CASE WHEN %(index_before)s::bigint = c.index - 1 AND NOT q.paused AND q.max_in_flight IS NULL AND q.rate IS NULL
                THEN %(holder)s::bigint END AS taker,
           coalesce(%(work_timeout)s::float8, q.heartbeat_timeout) AS lease
    FROM advanced c JOIN queues_queue q ON q.id = c.queue_id
)
