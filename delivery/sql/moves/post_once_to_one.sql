-- post_once_to_one: store a batch of messages at the end of a single queue, of which some have a dedupe text that nobody
-- has posted lately. It is how clients post that may have to repeat themselves, so it is the way of most messages.
-- Runs on: queues_counter's and queues_queue's primary keys; delivery_dedupevalue's primary key.
-- Shape: that of post_to_one.sql. A text that is there already, or comes while this waits for the counter, makes it fail.
WITH :ADVANCED_ONE, placed AS (
    :PLACED_IN_ONE, %(dedupe)b::text[]
    ) WITH ORDINALITY AS a (sequence, priority, body, delay, ttl, key, poster, label, notify, work_timeout, holder,
                            index_before, dedupe, place)
), :REMEMBERED
:STORED
