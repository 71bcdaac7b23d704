-- live_counts: how many messages live in each queue, without counting them: IDs given out less IDs free again.
-- Runs on: queues_queue's primary key; free_sequences_of_queue.
SELECT q.id, q.next_sequence - 1 - coalesce(f.free, 0) AS live
FROM queues_queue q
LEFT JOIN LATERAL (
    SELECT sum(cardinality(sequences))::bigint AS free FROM delivery_freesequences WHERE queue_id = q.id
) f ON true
WHERE q.id = ANY (%(queue_id)s::bigint[])
