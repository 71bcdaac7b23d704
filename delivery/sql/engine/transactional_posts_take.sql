-- transactional_posts_take: posts that applications have committed since the snapshot `seen`, with the snapshot in
-- which they are read and how many of them there are. The caller stores and deletes them in the same transaction, and
-- holds the lock of this duty.
-- Runs on: delivery_transactionalpost's primary key (transaction, id).
-- Shape: as in transactional_posts_new.sql; as many as fit into `bytes`, but at least one. Transactions that ran side by
-- side come in the order of their commits where the server keeps track of it (track_commit_timestamp), otherwise in the
-- order of their first writes.
WITH waiting AS (
    (
        SELECT * FROM delivery_transactionalpost
        WHERE transaction = ANY (ARRAY(SELECT pg_snapshot_xip(%(seen)s::pg_snapshot))) AND refused IS NULL
        AND queue <> ALL (%(held)s::text[])
        ORDER BY transaction, id LIMIT %(limit)s
    ) UNION ALL (
        SELECT * FROM delivery_transactionalpost
        WHERE transaction >= pg_snapshot_xmax(%(seen)s::pg_snapshot) AND refused IS NULL
        AND queue <> ALL (%(held)s::text[])
        ORDER BY transaction, id LIMIT %(limit)s
    )
), in_order AS (
    SELECT *, row_number() OVER by_commit AS place, count(*) OVER () AS waiting,
           sum(:MESSAGE_BYTES) OVER by_commit - (:MESSAGE_BYTES) AS bytes_before
    FROM waiting
    WINDOW by_commit AS (
        ORDER BY CASE WHEN current_setting('track_commit_timestamp') = 'on'
                      THEN pg_xact_commit_timestamp(transaction::xid) END NULLS FIRST, transaction, id
    )
)
SELECT pg_current_snapshot()::text AS snapshot, waiting, transaction::text, id, queue, tags, body, priority, delay, ttl,
       key, dedupe, headers, "group", "unique"
FROM in_order
WHERE bytes_before < %(bytes)s
ORDER BY place
