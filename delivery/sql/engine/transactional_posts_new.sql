-- transactional_posts_new: the queues of posts that applications have committed since the snapshot `seen`: of the first
-- `most` of them, which transactional_posts_take.sql takes next.
-- Runs on: delivery_transactionalpost's primary key (transaction, id).
WITH :COMMITTED_POSTS
SELECT pg_current_snapshot()::text,
       (SELECT jsonb_agg(DISTINCT jsonb_build_array(queue, to_jsonb(tags))) FROM committed_posts WHERE place <= %(most)s)
