-- post_one_once: store a single message with a dedupe text that nobody has posted lately. That is how Willow's own client
-- posts, so on a quiet broker it is the way of most messages.
-- Runs on: queues_counter's and queues_queue's primary keys; delivery_dedupevalue's primary key.
-- Shape: that of post_one.sql. A text that is there already, or comes while this waits for the counter, makes it fail.
WITH :PLACED_SINGLE, remembered AS (
    INSERT INTO delivery_dedupevalue (queue_id, value, sequence, index, until)
    SELECT queue_id, %(dedupe)s::text, sequence, index, now() + %(dedupe_seconds)s::float8 * interval '1 second'
    FROM placed
)
:STORED_SINGLE
