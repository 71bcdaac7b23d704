-- stored: the messages as they were `placed`, at the end of a statement that posts.
INSERT INTO delivery_message (
    queue_id, sequence, index, priority, state, available_at, expires_at, key, body, poster, poster_node, label, notify,
    holder, attempts, assigned_at, work_timeout, lease_until
)
SELECT
    queue_id, id, index, priority,
    CASE WHEN kind = 'stream' THEN :RETAINED WHEN delay > 0 THEN :DELAYED WHEN taker IS NOT NULL THEN :CLAIMED
         ELSE :READY END,
    CASE WHEN delay > 0 THEN now() + delay * interval '1 second' END,
    now() + ttl * interval '1 second',
    key, body, poster, %(node)s, label, notify,
    taker,
    CASE WHEN taker IS NULL THEN 0 ELSE 1 END,
    CASE WHEN taker IS NOT NULL THEN now() END,
    CASE WHEN taker IS NOT NULL THEN lease WHEN holder IS NULL THEN work_timeout END,
    CASE WHEN taker IS NOT NULL THEN now() + lease * interval '1 second' END
FROM placed
RETURNING queue_id, sequence, index, holder, work_timeout
