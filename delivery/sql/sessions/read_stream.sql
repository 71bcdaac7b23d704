-- read_stream: what follows an index in a stream.
-- Runs on: the message's primary key.
-- Shape: indexes become visible in their order (post.sql), so nothing can appear later below what was read.
SELECT index, sequence, priority, body, headers, group_key
FROM delivery_message
WHERE queue_id = %(queue_id)s AND index > %(after)s
ORDER BY index
LIMIT %(limit)s
