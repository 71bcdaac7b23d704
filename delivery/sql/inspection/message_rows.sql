-- message_rows: what a list of messages shows of each; of the bodies the beginning, or nothing.
-- Runs on: the message's primary key; the primary keys of queues, sessions and clients.
SELECT m.queue_id, q.name, q.tags, m.sequence, m.index, m.state, m.priority, m.attempts, m.posted_at, m.available_at,
       m.expires_at, m.key, m.holder, c.name, m.lease_until, m.last_error, m.last_client,
       m.dead_reason, m.died_at, octet_length(m.body), CASE WHEN %(with_bodies)s THEN substr(m.body, 1, %(bytes)s) END
FROM unnest(%(queue_id)s::bigint[], %(sequence)s::bigint[]) WITH ORDINALITY
     AS wanted (queue_id, sequence, number)
JOIN delivery_message m ON m.queue_id = ANY (ARRAY[wanted.queue_id]) AND m.sequence = ANY (ARRAY[wanted.sequence])
JOIN queues_queue q ON q.id = wanted.queue_id
LEFT JOIN clients_session s ON s.id = m.holder
LEFT JOIN clients_client c ON c.id = s.client_id
ORDER BY wanted.number
