-- assign_noticed: posters of other nodes hear that their messages were given to a client.
assign_noticed AS (
    INSERT INTO delivery_pendingnotice (session_id, stage, label, queue_id, queue_name, sequence, index)
    SELECT c.poster, :STAGE_ASSIGN, c.label, c.queue_id, CASE WHEN c.notify & :NAMED_SEVERAL > 0 THEN q.name END,
           c.sequence, c.index
    FROM claimed c JOIN queues_queue q ON q.id = c.queue_id
    WHERE c.notify & :NOTIFY_ASSIGN > 0 AND c.poster_node <> %(node)s
)
