-- finish_noticed: posters of other nodes hear that their messages were finished, with the reply.
finish_noticed AS (
    INSERT INTO delivery_pendingnotice (session_id, stage, label, queue_id, queue_name, sequence, index, reply, notify)
    SELECT poster, :STAGE_FINISH, label, queue_id,
           CASE WHEN notify & (:NAMED_SEVERAL | :REQUEST) > 0 THEN queue_name END, sequence, index, reply, notify
    FROM ended
    WHERE notify & :NOTIFY_FINISH > 0 AND poster_node <> %(node)s
)
