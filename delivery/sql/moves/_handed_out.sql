-- handed_out: the messages that were `picked`, given to those who wait, each to the place that it has. What lies beyond
-- MOST_TAKEN_BYTES is locked and left alone: no answer may be larger than memory. A row that was just locked is
-- found again by where it lies (ctid), which cannot change before the commit.
assigned AS (
    SELECT row_id, place, (%(holder)b::bigint[])[place] AS holder,
           CASE WHEN (%(work_timeout)b::float8[])[place] < 0 THEN heartbeat_timeout
                ELSE (%(work_timeout)b::float8[])[place] END AS work_timeout
    FROM picked
    WHERE bytes_before < :MOST_TAKEN_BYTES
), claimed AS (
    UPDATE delivery_message m
    SET state = :CLAIMED, holder = a.holder, attempts = m.attempts + 1, assigned_at = now(), available_at = NULL,
        work_timeout = a.work_timeout, lease_until = now() + a.work_timeout * interval '1 second'
    FROM assigned a
    WHERE m.ctid = a.row_id
    RETURNING a.place, m.queue_id, m.sequence, m.index, m.attempts, m.priority, m.body, m.work_timeout,
              m.poster, m.poster_node, m.label, m.notify, m.headers, m.group_key
)
