-- status: every queue of a name, with how many messages it holds in which state.
-- Runs on: queue_name_and_tags; free_sequences_of_queue, message_lease, message_delayed and
-- message_index_once_per_queue, once for each queue.
-- Shape: live messages are not counted but known (see live_counts.sql); only what is claimed or delayed is counted,
-- on an index that holds nothing else.
SELECT q.*,
       q.next_sequence - 1 - coalesce((SELECT sum(cardinality(sequences)) FROM delivery_freesequences WHERE queue_id = q.id), 0)
           AS live,
       (SELECT count(*) FROM delivery_message WHERE queue_id = q.id AND lease_until IS NOT NULL) AS in_flight,
       (SELECT count(*) FROM delivery_message WHERE queue_id = q.id AND state = :DELAYED) AS delayed,
       oldest.index AS oldest_index, oldest.age AS oldest_age,
       coalesce((
           SELECT d.next_sequence - 1 - coalesce((SELECT sum(cardinality(sequences)) FROM delivery_freesequences
                                                  WHERE queue_id = d.id), 0)
           FROM queues_queue d
           WHERE d.name = left(q.name, :NAME_LENGTH - length(:DEAD_SUFFIX)) || :DEAD_SUFFIX AND d.tags = q.tags
       ), 0) AS dead,
       coalesce((
           SELECT sum((n.readers ->> q.id::text)::int) FROM clients_node n
           WHERE n.heartbeat_at > now() - %(lapse)s * interval '1 second'
       ), 0) AS consumers
FROM queues_queue q
LEFT JOIN LATERAL (
    SELECT index, extract(epoch FROM now() - posted_at)::float8 AS age
    FROM delivery_message WHERE queue_id = q.id AND index > 0 ORDER BY index LIMIT 1
) oldest ON true
WHERE q.name = %(name)s::varchar
ORDER BY q.id
