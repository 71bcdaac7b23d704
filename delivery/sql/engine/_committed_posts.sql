-- committed_posts: posts that applications have committed since the snapshot `seen`, with the `place` of each in the order
-- of commits and how many of them there are.
-- Runs on: delivery_transactionalpost's primary key (transaction, id).
-- Shape: a row is new if its transaction was running in that snapshot, or began after it. So no entry of the index is
-- looked at that belongs to a post which was moved before, however long another transaction keeps vacuum away. Queues that
-- cannot be made now are left out: the posts that wait for them would fill the limit. Transactions that ran side by side
-- come in the order of their commits where the server keeps track of it (track_commit_timestamp), otherwise in the order
-- of their first writes. More are sorted (`limit`) than are moved: after an outage, a transaction that wrote early and
-- committed late has many behind it that committed before.
waiting AS (
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
), committed_posts AS (
    SELECT *, row_number() OVER by_commit AS place, count(*) OVER () AS waiting,
           sum(:MESSAGE_BYTES) OVER by_commit - (:MESSAGE_BYTES) AS bytes_before
    FROM waiting
    WINDOW by_commit AS (
        ORDER BY CASE WHEN current_setting('track_commit_timestamp') = 'on'
                      THEN pg_xact_commit_timestamp(transaction::xid) END NULLS FIRST, transaction, id
    )
)
