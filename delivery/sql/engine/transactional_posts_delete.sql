-- transactional_posts_delete: posts of applications that are in their queues now, in the same transaction.
-- Runs on: delivery_transactionalpost's primary key.
DELETE FROM delivery_transactionalpost p
USING unnest(%(transaction)s::text[]::xid8[], %(id)s::bigint[]) AS moved (transaction, id)
WHERE p.transaction = moved.transaction AND p.id = moved.id
