-- post: store a batch of messages, each at the end of its queue.
-- Runs on: queues_counter's and queues_queue's primary keys.
-- Shape: the queue's counter stays locked from here to commit, so indexes become visible in their own order, which is
-- what lets a stream's reader go by "index > position". Counters are locked by ascending number, so that two batches
-- over the same queues cannot deadlock. The caller names IDs that are free again (`sequence`), with the
-- indexes of the messages that had them (`former`); others get new IDs. Of a queue that has started from 1 again since
-- then (restart_sequences.sql), all get new ones. Rows come back by (queue_id, index), the order in which they were given for each queue.
-- An index that a client was told of never comes again, also when a crash takes the message back: whoever passes
-- flushed_index moves it on, and flushes that, whatever its batch asked for (after_crash.sql goes on above it).
-- A message with a `holder` is claimed for it as it is stored, if nobody else has posted to its queue since the caller
-- knew it to be empty: the queue's newest index is still `index_before`.
WITH arriving AS (
    SELECT a.*, row_number() OVER of_queue AS number,
           count(*) FILTER (WHERE a.sequence IS NULL) OVER of_queue AS fresh
    FROM unnest(
        %(queue_id)b::bigint[], %(sequence)b::bigint[], %(former)b::bigint[], %(priority)b::bigint[], %(body)b::bytea[],
        %(delay)b::float8[], %(ttl)b::float8[], %(key)b::text[], %(poster)b::bigint[], %(label)b::bigint[], %(notify)b::bigint[],
        %(work_timeout)b::float8[], %(holder)b::bigint[], %(index_before)b::bigint[]
    ) WITH ORDINALITY AS a (queue_id, sequence, former, priority, body, delay, ttl, key, poster, label, notify, work_timeout,
                            holder, index_before, place)
    WINDOW of_queue AS (PARTITION BY a.queue_id ORDER BY a.place)
), :ADVANCED, :PLACED
:STORED
