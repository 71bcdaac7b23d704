-- forget_excess_replies: replies beyond the space that all of them may take: those whose time is over first.
-- Runs on: kept_reply_until, backwards, over all that are kept; delivery_keptreply's primary key.
-- Shape: the length of a reply is known without reading it. A row counts with what it takes beside the reply.
DELETE FROM delivery_keptreply
WHERE (queue_id, index) IN (
    SELECT queue_id, index
    FROM (
        SELECT queue_id, index,
               sum(:KEPT_REPLY_ROW_BYTES + coalesce(octet_length(reply), 0))
                   OVER (ORDER BY until DESC ROWS UNBOUNDED PRECEDING) AS bytes
        FROM delivery_keptreply
    ) k
    WHERE bytes > %(most)s
    LIMIT %(limit)s
)
