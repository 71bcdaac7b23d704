-- save_positions: how far clients have come with streams.
-- Runs on: clients_position's primary key; clients_session's primary key.
-- Shape: guarded by the client's live session, so a session that was taken over cannot move the position back.
UPDATE clients_position p
SET acked_index = w.acked_index, floor_index = w.floor_index, delivered_index = w.delivered_index,
    acked_above = w.acked_above::bigint[], changed_at = now()
FROM unnest(
    %(client_id)b::bigint[], %(session_id)b::bigint[], %(queue_id)b::bigint[], %(acked_index)b::bigint[],
    %(floor_index)b::bigint[], %(delivered_index)b::bigint[], %(acked_above)b::text[]
) AS w (client_id, session_id, queue_id, acked_index, floor_index, delivered_index, acked_above)
JOIN clients_session s ON s.id = w.session_id AND s.client_id = w.client_id
WHERE p.client_id = w.client_id AND p.queue_id = w.queue_id
