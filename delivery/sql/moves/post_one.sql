-- post_one: store a single message, as post.sql does with a batch. On a quiet broker most batches hold one message, and
-- the price of one statement is that of its parts.
-- Runs on: queues_counter's and queues_queue's primary keys.
WITH :PLACED_SINGLE
:STORED_SINGLE
