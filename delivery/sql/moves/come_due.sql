-- come_due: delayed messages whose time has come are ready, in the queues named here or, with NULL, in all.
-- Runs on: message_delayed, once for each queue; the message's primary key.
-- Shape: one of a group that nobody has tried goes behind the others of its group; one that was tried has its place.
WITH ended AS (
    UPDATE delivery_message m
    SET state = CASE WHEN m.group_key IS NULL OR due.most IS NULL OR m.attempts > 0 THEN :READY ELSE :BEHIND END,
        available_at = NULL
    FROM (
        SELECT d.queue_id, d.index, q.group_in_flight AS most
        FROM queues_queue q
        CROSS JOIN LATERAL (
            SELECT queue_id, index
            FROM delivery_message
            WHERE queue_id = q.id AND state = :DELAYED AND available_at <= coalesce(%(now)s::timestamptz, now())
            ORDER BY available_at
            LIMIT %(limit)s
            FOR UPDATE SKIP LOCKED
        ) d
        WHERE %(queue_id)s::bigint[] IS NULL OR q.id = ANY (%(queue_id)s::bigint[])
    ) due
    WHERE m.queue_id = ANY (ARRAY[due.queue_id]) AND m.index = ANY (ARRAY[due.index])
    RETURNING m.queue_id, m.group_key
), :GROUPS_TOUCHED
SELECT queue_id FROM ended
