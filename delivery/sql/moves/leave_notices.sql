-- leave_notices: notices for posters that left this node since they posted.
-- Runs on: clients_session's primary key.
INSERT INTO delivery_pendingnotice (session_id, stage, label, queue_id, queue_name, sequence, index, reply, notify)
SELECT n.session_id, n.stage, n.label, n.queue_id, n.queue_name, n.sequence, n.index, n.reply, n.notify
FROM unnest(
    %(session_id)b::bigint[], %(stage)b::bigint[], %(label)b::bigint[], %(queue_id)b::bigint[],
    %(queue_name)b::text[], %(sequence)b::bigint[], %(index)b::bigint[], %(reply)b::bytea[], %(notify)b::bigint[]
) AS n (session_id, stage, label, queue_id, queue_name, sequence, index, reply, notify)
JOIN clients_session s ON s.id = n.session_id AND s.ended_at IS NULL
