-- transactional_posts_new: the queues of posts that applications have committed since the snapshot `seen`.
-- Runs on: delivery_transactionalpost's primary key (transaction, id).
-- Shape: a row is new if its transaction was running in that snapshot, or began after it. So no entry of the index is
-- looked at that belongs to a post which was moved before, however long another transaction keeps vacuum away. Queues that
-- cannot be made now are left out: the posts that wait for them would fill the limit.
WITH waiting AS (
    (
        SELECT queue, tags FROM delivery_transactionalpost
        WHERE transaction = ANY (ARRAY(SELECT pg_snapshot_xip(%(seen)s::pg_snapshot))) AND refused IS NULL
        AND queue <> ALL (%(held)s::text[])
        ORDER BY transaction, id LIMIT %(limit)s
    ) UNION ALL (
        SELECT queue, tags FROM delivery_transactionalpost
        WHERE transaction >= pg_snapshot_xmax(%(seen)s::pg_snapshot) AND refused IS NULL
        AND queue <> ALL (%(held)s::text[])
        ORDER BY transaction, id LIMIT %(limit)s
    )
)
SELECT pg_current_snapshot()::text,
       (SELECT jsonb_agg(DISTINCT jsonb_build_array(queue, to_jsonb(tags))) FROM waiting)
