-- transactional_posts_take: posts that applications have committed since the snapshot `seen`, with the snapshot in
-- which they are read and how many of them there are. The caller stores and deletes them in the same transaction, and
-- holds the lock of this duty.
-- Runs on: delivery_transactionalpost's primary key (transaction, id).
-- Shape: the first `most` of them, and as many as fit into `bytes`, but at least one. A delay began with the call.
WITH :COMMITTED_POSTS
SELECT pg_current_snapshot()::text AS snapshot, waiting, transaction::text, id, queue, tags, body, priority,
       delay - least(delay, greatest(extract(epoch FROM clock_timestamp() - posted_at)::float8, 0)) AS delay, ttl, key,
       dedupe, headers, "group", "unique"
FROM committed_posts
WHERE bytes_before < %(bytes)s AND place <= %(most)s
ORDER BY place
