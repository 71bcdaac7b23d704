-- post_one: store a single message, as post.sql does with a batch. On a quiet broker most batches hold one message, and
-- the price of one statement is that of its parts.
-- Runs on: queues_counter's and queues_queue's primary keys.
WITH advanced AS (
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
INSERT INTO delivery_message (
    queue_id, sequence, index, priority, state, available_at, expires_at, key, body, poster, poster_node, label, notify,
    holder, attempts, assigned_at, work_timeout, lease_until
)
SELECT
    queue_id, sequence, index, %(priority)s::bigint,
    CASE WHEN kind = 'stream' THEN :RETAINED WHEN %(delay)s::float8 > 0 THEN :DELAYED WHEN taker IS NOT NULL THEN :CLAIMED
         ELSE :READY END,
    CASE WHEN %(delay)s::float8 > 0 THEN now() + %(delay)s::float8 * interval '1 second' END,
    now() + %(ttl)s::float8 * interval '1 second',
    %(key)s::text, %(body)b::bytea, %(poster)s::bigint, %(node)s::int, %(label)s::bigint, %(notify)s::smallint,
    taker,
    CASE WHEN taker IS NULL THEN 0 ELSE 1 END,
    CASE WHEN taker IS NOT NULL THEN now() END,
    CASE WHEN taker IS NOT NULL THEN lease WHEN %(holder)s::bigint IS NULL THEN %(work_timeout)s::float8 END,
    CASE WHEN taker IS NOT NULL THEN now() + lease * interval '1 second' END
FROM placed
RETURNING queue_id, sequence, index, holder, work_timeout
