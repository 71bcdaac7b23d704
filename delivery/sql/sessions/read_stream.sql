-- read_stream: what follows an index in a stream.
-- Runs on: message_index_once_per_queue.
-- Shape: indexes become visible in their order (post.sql), so nothing can appear later below what was read.
SELECT index, sequence, priority, body, headers, group_key
FROM delivery_message
WHERE queue_id = %(queue_id)s AND index > 0 AND index > %(after)s
ORDER BY index
LIMIT %(limit)s
