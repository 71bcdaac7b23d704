-- open_position: where a client is in a stream; on its first subscription, where it wants to start.
-- Runs on: clients_position's primary key; the message's primary key, from the oldest on.
WITH start AS (
    SELECT q.id AS queue_id,
           CASE %(start)s
               WHEN 'new' THEN n.newest_index
               WHEN 'oldest' THEN coalesce(
                   (SELECT index - 1 FROM delivery_message WHERE queue_id = q.id
                    ORDER BY index LIMIT 1), n.newest_index)
               ELSE greatest(%(start_index)s::bigint - 1, 0)
           END AS index
    FROM queues_queue q JOIN queues_counter n ON n.queue_id = q.id WHERE q.id = %(queue_id)s
), opened AS (
    INSERT INTO clients_position (client_id, queue_id, floor_index, delivered_index)
    SELECT %(client_id)s, queue_id, index, index FROM start
    ON CONFLICT (client_id, queue_id) DO NOTHING
    RETURNING acked_index, floor_index, acked_above, delivered_index
)
SELECT * FROM opened
UNION ALL
SELECT acked_index, floor_index, acked_above, delivered_index
FROM clients_position WHERE client_id = %(client_id)s AND queue_id = %(queue_id)s
LIMIT 1
