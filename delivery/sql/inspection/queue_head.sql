-- queue_head: what stands first in a queue: its first ready message, and the first delayed one to come due.
-- Runs on: message_ready; message_delayed.
SELECT q.id, q.paused, q.kind, q.name, q.tags, n.newest_index,
       ready.sequence AS ready_sequence, ready.index AS ready_index, ready.posted_at AS ready_posted_at,
       delayed.sequence AS delayed_sequence, delayed.index AS delayed_index, delayed.available_at
FROM queues_queue q
JOIN queues_counter n ON n.queue_id = q.id
LEFT JOIN LATERAL (
    SELECT sequence, index, posted_at FROM delivery_message
    WHERE queue_id = q.id AND state = :READY AND (expires_at IS NULL OR expires_at > now())
    ORDER BY priority * -1, index LIMIT 1
) ready ON true
LEFT JOIN LATERAL (
    SELECT sequence, index, available_at FROM delivery_message
    WHERE queue_id = q.id AND state = :DELAYED ORDER BY available_at LIMIT 1
) delayed ON true
WHERE q.id = %(queue_id)s
