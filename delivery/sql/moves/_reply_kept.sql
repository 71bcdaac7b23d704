-- reply_kept: how messages of queues with `keep_replies` ended can be asked for, for so many seconds. The poster is known
-- by its key, also when its session is forgotten.
reply_kept AS (
    INSERT INTO delivery_keptreply (queue_id, index, outcome, reason, error, attempts, reply, poster_key, until)
    SELECT e.queue_id, e.index, e.outcome, e.reason, e.error, e.attempts, e.reply, nullif(coalesce(e.poster_key, s.key_id), 0),
           now() + e.keep_replies * interval '1 second'
    FROM ended e LEFT JOIN clients_session s ON s.id = e.poster
    WHERE e.keep_replies > 0
)
