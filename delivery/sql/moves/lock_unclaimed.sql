-- lock_unclaimed: messages that nobody holds, whole and locked, for take_out.sql in the same transaction.
-- Runs on: the message's primary key (state + 0: so that no other index fits).
-- Shape: guarded by state and ID; `untouched` asks for messages that nobody ever had. A
-- request of a service stays where it is: its identifier names its queue. What others have locked is skipped.
SELECT c.place, m.queue_id, m.sequence, m.index, m.priority, m.attempts, m.key, m.body, m.poster, m.poster_key,
       m.poster_node, m.label, m.notify, m.origin_queue_id, m.origin_index, m.origin_attempts, m.dead_reason, m.last_error,
       m.last_client, m.headers, m.group_key, m.unique_key,
       CASE WHEN m.state + 0 = :DELAYED THEN extract(epoch FROM m.available_at - now())::float8 END AS delay,
       extract(epoch FROM m.expires_at - now())::float8 AS ttl
FROM unnest(%(queue_id)b::bigint[], %(sequence)b::bigint[], %(index)b::bigint[])
     WITH ORDINALITY AS c (queue_id, sequence, index, place)
JOIN delivery_message m ON m.queue_id = ANY (ARRAY[c.queue_id]) AND m.index = ANY (ARRAY[c.index])
WHERE m.state + 0 IN (:READY, :DELAYED, :BEHIND) AND m.sequence = c.sequence AND m.notify & :REQUEST = 0
  AND (m.attempts = 0 OR NOT %(untouched)s::boolean)
ORDER BY c.place
FOR UPDATE OF m SKIP LOCKED
