-- rewrite: an operator gives one waiting message another body and priority; it keeps its ID, index, state and age.
-- Runs on: the message's primary key (state + 0: so that no other index fits).
-- Shape: guarded by state and ID. A request of a service is left alone: its frontend waits for the answer to what it
-- asked.
WITH ended AS (
    UPDATE delivery_message m
    SET body = %(body)b, priority = %(priority)s
    WHERE m.queue_id = ANY (ARRAY[%(queue_id)s::bigint]) AND m.index = ANY (ARRAY[%(index)s::bigint])
      AND m.state + 0 IN (:READY, :DELAYED, :BEHIND) AND m.sequence = %(sequence)s AND m.notify & :REQUEST = 0
    RETURNING 1 AS place, m.queue_id, m.group_key
), :GROUPS_TOUCHED
SELECT place, queue_id FROM ended
