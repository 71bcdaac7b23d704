-- queue_limits: what the limits of a queue allow now, without taking anything.
-- Runs on: what _allowed.sql runs on: message_claimed, as far as the limit reaches; message_behind_in_order, its head.
WITH :ALLOWED
SELECT q.max_in_flight, q.rate, q.group_in_flight, a.most, (1 - a.level) / a.rate AS next_in,
       behind.group_key AS held_back_group
FROM queues_queue q
LEFT JOIN allowed a ON a.id = q.id
LEFT JOIN LATERAL (
    SELECT group_key FROM delivery_message
    WHERE queue_id = q.id AND state + 0 = :BEHIND ORDER BY priority * -1, index LIMIT 1
) behind ON true
WHERE q.id = ANY (%(limited)b::bigint[])
