-- read_stream: what follows an index in a stream.
-- Runs on: the message's primary key.
-- Shape: indexes become visible in their order (post.sql), so nothing can appear later below what was read.
-- Bodies are read only as far as MOST_TAKEN_BYTES go.
SELECT index, sequence, priority, body, headers, group_key
FROM (
    SELECT *, sum(bytes) OVER (ORDER BY index ROWS UNBOUNDED PRECEDING) - bytes AS bytes_before
    FROM (
        SELECT index, sequence, priority, body, headers, group_key, :MESSAGE_BYTES AS bytes
        FROM delivery_message
        WHERE queue_id = %(queue_id)s AND index > %(after)s
        ORDER BY index
        LIMIT %(limit)s
    ) AS following
) AS counted_bytes
WHERE bytes_before < :MOST_TAKEN_BYTES
ORDER BY index
