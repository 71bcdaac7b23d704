-- journalled: the journal's row of each message, or attempt, that ended. What `ended` has under these names is written.
journalled AS (
    INSERT INTO delivery_journal (queue_id, queue_name, queue_tags, index, outcome, reason, attempt, priority, poster,
                                  holder, client, node, posted_at, assigned_at, size, error, body, extras)
    SELECT queue_id, queue_name, queue_tags, index, outcome, reason, attempts, priority, poster,
           holder, client, %(node_name)s, posted_at, assigned_at, size, error, kept_body, kept_extras
    FROM ended
)
