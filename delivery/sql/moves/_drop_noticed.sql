-- drop_noticed: posters of other nodes hear that their messages ended without a client. Frontends hear why.
drop_noticed AS (
    INSERT INTO delivery_pendingnotice (session_id, stage, label, queue_id, queue_name, sequence, index, reply,
                                        notify)
    SELECT poster, :STAGE_DROP, label, queue_id,
           CASE WHEN notify & (:NAMED_SEVERAL | :REQUEST) > 0 THEN queue_name END, sequence, index,
           CASE WHEN notify & :REQUEST = 0 THEN NULL
                WHEN reason = :EXPIRED THEN convert_to(:REQUEST_TIMED_OUT, 'UTF8')
                WHEN error IS NOT NULL THEN convert_to(:REQUEST_FAILED || error, 'UTF8') END,
           notify
    FROM ended
    WHERE notify & :NOTIFY_DROP > 0 AND poster_node IS DISTINCT FROM %(node)s
)
