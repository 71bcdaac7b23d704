-- transactional_posts_refuse: say why a committed post can never be stored; it stays for operators to look at.
-- Runs on: delivery_transactionalpost's primary key.
UPDATE delivery_transactionalpost SET refused = %(why)s
WHERE transaction = %(transaction)s::text::xid8 AND id = %(id)s
