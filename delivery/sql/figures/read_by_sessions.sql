-- read_by_sessions: names of the queues that each of these sessions reads, as its node said with its last heartbeat.
-- Runs on: the primary keys of sessions, nodes and queues.
SELECT s.id, array_agg(DISTINCT q.name::text ORDER BY q.name::text)
FROM clients_session s
JOIN clients_node n ON n.id = s.node_id
CROSS JOIN LATERAL jsonb_array_elements_text(n.reading -> s.id::text) r
JOIN queues_queue q ON q.id = r.value::bigint
WHERE s.id = ANY (%(session_id)s::bigint[])
GROUP BY s.id
