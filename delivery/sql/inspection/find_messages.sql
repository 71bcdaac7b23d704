-- find_messages: the next messages of one queue that an operator's filter chooses, and how far was looked.
-- Runs on: message_index_once_per_queue, from an index on; message_lease for what is claimed, message_delayed for what
-- is delayed, because these may be few among many.
-- Shape: a bounded number of rows is looked at, whether the filter chooses them or not; the caller goes on from
-- `looked_to`. One of the three branches runs, the others are cut off by `walk`.
WITH looked AS MATERIALIZED (
    (SELECT * FROM delivery_message
     WHERE %(walk)s = 'all' AND queue_id = %(queue_id)s AND index > 0 AND index > %(after)s AND index <= %(index_to)s
     ORDER BY index LIMIT %(looked_at)s)
    UNION ALL
    (SELECT * FROM delivery_message
     WHERE %(walk)s = 'claimed' AND queue_id = %(queue_id)s AND lease_until IS NOT NULL
       AND index > %(after)s AND index <= %(index_to)s
     ORDER BY index LIMIT %(looked_at)s)
    UNION ALL
    (SELECT * FROM delivery_message
     WHERE %(walk)s = 'delayed' AND queue_id = %(queue_id)s AND state = :DELAYED
       AND index > %(after)s AND index <= %(index_to)s
     ORDER BY index LIMIT %(looked_at)s)
), matching AS (
    SELECT * FROM looked m
    WHERE (%(states)s::int[] IS NULL OR m.state = ANY (%(states)s::int[]))
      AND (%(sequence)s::bigint IS NULL OR m.sequence = %(sequence)s::bigint)
      AND (%(priority_from)s::bigint IS NULL OR m.priority >= %(priority_from)s::bigint)
      AND (%(priority_to)s::bigint IS NULL OR m.priority <= %(priority_to)s::bigint)
      AND (%(posted_before)s::timestamptz IS NULL OR m.posted_at < %(posted_before)s::timestamptz)
      AND (%(posted_after)s::timestamptz IS NULL OR m.posted_at > %(posted_after)s::timestamptz)
      AND (%(text)s::bytea IS NULL OR position(%(text)s::bytea IN m.body) > 0)
      AND (%(reason)s::text IS NULL OR m.dead_reason = %(reason)s::text)
      AND (%(signature)s::text IS NULL OR willow_error_signature(m.last_error) = %(signature)s::text)
      AND (%(origin)s::bigint IS NULL OR m.origin_queue_id = %(origin)s::bigint)
    ORDER BY m.index
    LIMIT %(limit)s
)
SELECT l.looked_to, l.rows_looked_at, m.queue_id, m.sequence, m.index, m.state, m.priority, m.attempts, m.posted_at,
       m.available_at, m.expires_at, m.key, m.holder, m.assigned_at, m.lease_until, m.last_error, m.last_client,
       m.poster, m.origin_queue_id, m.origin_index, m.origin_attempts, m.dead_reason, m.died_at,
       octet_length(m.body) AS size, substring(m.body FOR %(body_bytes)s) AS body
FROM (SELECT max(index) AS looked_to, count(*) AS rows_looked_at FROM looked) l
LEFT JOIN matching m ON true
ORDER BY m.index
