-- record_acks: the highest index of a work queue that a client has finished.
-- Runs on: clients_position's primary key.
INSERT INTO clients_position AS p (client_id, queue_id, acked_index)
SELECT w.client_id, w.queue_id, max(w.index)
FROM unnest(%(client_id)b::bigint[], %(queue_id)b::bigint[], %(index)b::bigint[]) AS w (client_id, queue_id, index)
JOIN clients_client c ON c.id = w.client_id
GROUP BY w.client_id, w.queue_id
ORDER BY w.client_id, w.queue_id
ON CONFLICT (client_id, queue_id) DO UPDATE
SET acked_index = greatest(p.acked_index, EXCLUDED.acked_index), changed_at = now()
