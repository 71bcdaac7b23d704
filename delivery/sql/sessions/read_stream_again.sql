-- read_stream_again: messages of a stream by their indexes, for a client that has had them already.
-- Runs on: the message's primary key.
-- Shape: as read_stream.sql. What retention has removed is missing; what lies beyond MOST_TAKEN_BYTES is, too.
SELECT index, sequence, priority, body, headers, group_key
FROM (
    SELECT m.*, sum(bytes) OVER (ORDER BY index ROWS UNBOUNDED PRECEDING) - bytes AS bytes_before
    FROM (
        SELECT index, sequence, priority, body, headers, group_key, :MESSAGE_BYTES AS bytes
        FROM delivery_message
        WHERE queue_id = %(queue_id)s AND index = ANY (%(index)b::bigint[])
    ) AS m
) AS counted_bytes
WHERE bytes_before < :MOST_TAKEN_BYTES
ORDER BY index
