-- post_once: store a batch of messages at the ends of their queues, of which some have a dedupe text that nobody has
-- posted lately: post_once_to_one.sql for several queues.
-- Runs on: queues_counter's and queues_queue's primary keys; delivery_dedupevalue's primary key.
-- Shape: that of post.sql.
WITH arriving AS (
    SELECT a.*, row_number() OVER of_queue AS number,
           count(*) FILTER (WHERE a.sequence IS NULL) OVER of_queue AS fresh
    FROM unnest(
        %(queue_id)b::bigint[], %(sequence)b::bigint[], %(former)b::bigint[], %(priority)b::bigint[], %(body)b::bytea[],
        %(delay)b::float8[], %(ttl)b::float8[], %(key)b::text[], %(poster)b::bigint[], %(label)b::bigint[], %(notify)b::bigint[],
        %(work_timeout)b::float8[], %(holder)b::bigint[], %(index_before)b::bigint[], %(dedupe)b::text[]
    ) WITH ORDINALITY AS a (queue_id, sequence, former, priority, body, delay, ttl, key, poster, label, notify, work_timeout,
                            holder, index_before, dedupe, place)
    WINDOW of_queue AS (PARTITION BY a.queue_id ORDER BY a.place)
), :ADVANCED, :PLACED, :REMEMBERED
:STORED
