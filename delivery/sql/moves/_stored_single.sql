-- stored_single: a single message as it was `placed`, at the end of a statement that posts it.
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
