-- advanced_one: the counter of the single queue of a batch, moved on; the caller has counted.
advanced AS (
    UPDATE queues_counter
    SET newest_index = newest_index + %(messages)s::bigint,
        next_sequence = next_sequence + CASE WHEN %(oldest)s::bigint > restarted_index THEN %(fresh)s::bigint
                                             ELSE %(messages)s::bigint END,
        flushed_index = CASE WHEN newest_index + %(messages)s::bigint <= flushed_index THEN flushed_index
                             WHEN set_config('synchronous_commit', 'on', true) = 'on'
                             THEN newest_index + %(messages)s::bigint + :INDEXES_AHEAD END
    WHERE queue_id = %(queue_id)s::bigint
    RETURNING queue_id, newest_index - %(messages)s::bigint AS index_before,
              %(oldest)s::bigint > restarted_index AS are_free,
              next_sequence - CASE WHEN %(oldest)s::bigint > restarted_index THEN %(fresh)s::bigint
                                   ELSE %(messages)s::bigint END - 1 AS fresh_offset
)
