-- transactional_posts_lock: one node at a time moves the posts of applications, so that they keep their order.
SELECT pg_try_advisory_xact_lock(%(lock)s)
