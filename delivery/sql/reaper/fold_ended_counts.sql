-- fold_ended_counts: what nodes counted that are gone is added to the count of no node.
-- Runs on: delivery_endedcount as a whole, a row for each queue and node; clients_node's primary key.
WITH gone AS (
    DELETE FROM delivery_endedcount
    WHERE (queue_id, node_id) IN (
        SELECT e.queue_id, e.node_id FROM delivery_endedcount e
        WHERE e.node_id <> 0 AND NOT EXISTS (SELECT FROM clients_node n WHERE n.id = e.node_id)
        LIMIT %(limit)s FOR UPDATE SKIP LOCKED
    )
    RETURNING queue_id, messages
), folded AS (
    INSERT INTO delivery_endedcount AS e (queue_id, node_id, messages)
    SELECT g.queue_id, 0, sum(g.messages) FROM gone g JOIN queues_queue q ON q.id = g.queue_id
    GROUP BY g.queue_id ORDER BY g.queue_id
    ON CONFLICT (queue_id, node_id) DO UPDATE SET messages = e.messages + EXCLUDED.messages
)
SELECT count(*) FROM gone
