-- message_rows: what lists of messages show of each; of the bodies the first bytes, or nothing.
-- Runs on: the message's primary key; the primary keys of queues, sessions and clients.
SELECT m.queue_id, q.name AS queue_name, q.tags AS queue_tags, m.sequence, m.index, m.state, m.priority, m.attempts,
       m.posted_at, m.available_at, m.expires_at, m.key, m.holder, c.name AS holder_name, m.assigned_at, m.lease_until,
       m.last_error, m.last_client, m.origin_queue_id, m.origin_index, m.origin_attempts, m.dead_reason, m.died_at,
       octet_length(m.body) AS size, substr(m.body, 1, %(body_bytes)s::int) AS body, m.headers, m.group_key, m.unique_key
FROM unnest(%(queue_id)b::bigint[], %(sequence)b::bigint[], %(index)b::bigint[]) WITH ORDINALITY
     AS wanted (queue_id, sequence, index, number)
JOIN delivery_message m ON m.queue_id = ANY (ARRAY[wanted.queue_id]) AND m.index = ANY (ARRAY[wanted.index])
     AND m.sequence = wanted.sequence
JOIN queues_queue q ON q.id = wanted.queue_id
LEFT JOIN clients_session s ON s.id = m.holder
LEFT JOIN clients_client c ON c.id = s.client_id
ORDER BY wanted.number
