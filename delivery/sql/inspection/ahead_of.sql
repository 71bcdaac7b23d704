-- ahead_of: how many ready messages go before one of the same queue, counted up to a bound: those of a higher priority,
-- and those of the same priority that are older.
-- Runs on: message_ready, from its head.
SELECT count(*) FILTER (WHERE rank < %(rank)s) AS higher, count(*) AS messages
FROM (
    SELECT priority * -1 AS rank FROM delivery_message
    WHERE queue_id = %(queue_id)s AND state = :READY AND (priority * -1, index) < (%(rank)s, %(index)s)
    ORDER BY priority * -1, index
    LIMIT %(limit)s
) ahead
