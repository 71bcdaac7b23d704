-- restart_sequences: an empty queue gives out its IDs from 1 again and forgets its list of free ones.
-- Runs on: free_sequences_of_queue; the message's primary key, once for each queue.
-- Shape: with the queue's row locked nothing can be posted; a queue that got a message just before is left alone.
WITH restarted AS (
    UPDATE queues_queue q SET next_sequence = 1
    WHERE id = ANY (%(queue_id)s::bigint[])
      AND NOT EXISTS (SELECT FROM delivery_message m WHERE m.queue_id = ANY (ARRAY[q.id]))
    RETURNING id
), forgotten AS (
    DELETE FROM delivery_freesequences f USING restarted r WHERE f.queue_id = r.id
)
SELECT count(*) FROM restarted
