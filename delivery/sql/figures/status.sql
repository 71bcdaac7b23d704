-- status: every queue of a name, with how many messages it holds in which state.
-- Runs on: queue_name_and_tags_digest; queues_counter's and delivery_endedcount's primary keys, message_claimed, message_delayed and
-- the message's primary key, once for each queue.
-- Shape: live messages are not counted but known (see live_counts.sql); only what is claimed or delayed is counted,
-- on an index that holds nothing else and in its order, or the planner might take another one.
SELECT q.*, n.newest_index,
       n.newest_index - coalesce((SELECT sum(messages)::bigint FROM delivery_endedcount WHERE queue_id = q.id), 0) AS live,
       (SELECT count(*) FROM (
           SELECT FROM delivery_message WHERE queue_id = q.id AND lease_until IS NOT NULL ORDER BY holder, lease_until OFFSET 0
       ) m) AS in_flight,
       (SELECT count(*) FROM delivery_message WHERE queue_id = q.id AND state = :DELAYED) AS delayed,
       oldest.index AS oldest_index, oldest.age AS oldest_age,
       coalesce((
           SELECT k.newest_index - coalesce((SELECT sum(messages)::bigint FROM delivery_endedcount
                                             WHERE queue_id = d.id), 0)
           FROM queues_queue d JOIN queues_counter k ON k.queue_id = d.id
           WHERE d.name = left(q.name, :NAME_LENGTH - length(:DEAD_SUFFIX)) || :DEAD_SUFFIX 
             AND willow_tags_digest(d.tags) = willow_tags_digest(q.tags)
       ), 0) AS dead,
       coalesce((
           SELECT sum((o.readers ->> q.id::text)::int) FROM clients_node o
           WHERE o.heartbeat_at > now() - %(lapse)s * interval '1 second'
       ), 0) AS consumers
FROM queues_queue q
JOIN queues_counter n ON n.queue_id = q.id
LEFT JOIN LATERAL (
    SELECT index, extract(epoch FROM now() - posted_at)::float8 AS age
    FROM delivery_message WHERE queue_id = q.id ORDER BY index LIMIT 1
) oldest ON true
WHERE q.name = %(name)s::varchar
ORDER BY q.id
