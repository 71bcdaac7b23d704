-- post_to_one: store a batch of messages at the end of a single queue, as post.sql does for many queues. On most brokers
-- most batches are of this kind.
-- Runs on: queues_counter's and queues_queue's primary keys.
-- Shape: nothing has to be grouped or joined, so each message goes from the arrays straight into the table. The caller has
-- counted: `messages`, how many of them get a new ID (`fresh`), and the lowest index that a message with an ID to be used
-- again had (`oldest`). Instead of such an ID, `sequence` says of the first new one -1, of the second -2 and so on.
WITH :ADVANCED_ONE, placed AS (
    :PLACED_IN_ONE
    ) WITH ORDINALITY AS a (sequence, priority, body, delay, ttl, key, poster, label, notify, work_timeout, holder,
                            index_before, place)
)
:STORED
