-- retry: attempts that ended without a finish. Those with attempts left go back to wait for the next one; those
-- without come back as exhausted, locked, for bury.sql in the same transaction.
-- Runs on: the message's primary key (IS NOT DISTINCT FROM: see finish.sql); clients_session's primary key.
-- Shape: guarded by state, holder, index and attempt; of two failures of one claim the first counts. A node that says late
-- that a client has gone, for it was cut off or stood still, says nothing about one that went on over another node. The delay grows by the
-- queue's backoff and is spread by a quarter either way, so that messages which failed together do not come back
-- together. A request keeps its time, which its frontend chose. What is final is not tried again, however many attempts
-- are left.
WITH failing AS (
    SELECT * FROM unnest(
        %(queue_id)b::bigint[], %(sequence)b::bigint[], %(index)b::bigint[], %(holder)b::bigint[],
        %(attempt)b::bigint[], %(client)b::text[], %(reason)b::text[], %(error)b::text[], %(delay)b::float8[],
        %(final)b::bigint[]
    ) WITH ORDINALITY AS f (queue_id, sequence, index, holder, attempt, client, reason, error, delay, final, place)
), locked AS MATERIALIZED (
    SELECT f.place, f.client, f.reason, f.error, q.name AS queue_name, q.tags AS queue_tags,
           m.queue_id, m.sequence, m.index, m.attempts, m.priority, m.posted_at, m.assigned_at, m.holder,
           m.poster, m.poster_node, m.label, m.notify, octet_length(m.body) AS size,
           (f.final = 1 OR coalesce(m.attempts >= q.retry_limit, false))
               AND NOT q.name LIKE '%%' || :DEAD_SUFFIX AS exhausted,
           coalesce(f.delay, least(q.retry_delay_max, q.retry_delay * q.retry_backoff ^ least(m.attempts - 1, 50))
                             * (0.75 + 0.5 * random())) AS delay
    FROM failing f
    JOIN delivery_message m ON m.queue_id = ANY (ARRAY[f.queue_id]) AND m.index = ANY (ARRAY[f.index])
    JOIN queues_queue q ON q.id = f.queue_id
    WHERE m.state = :CLAIMED AND m.holder IS NOT DISTINCT FROM f.holder AND m.sequence = f.sequence
      AND (f.attempt IS NULL OR m.attempts = f.attempt)
      AND (f.reason <> :DISCONNECTED
           OR NOT EXISTS (SELECT FROM clients_session s WHERE s.id = f.holder AND s.node_id <> %(node)s))
    FOR UPDATE OF m
), target AS (
    SELECT DISTINCT ON (queue_id, index) * FROM locked ORDER BY queue_id, index, place
), retried AS (
    UPDATE delivery_message m
    SET state = CASE WHEN t.delay > 0 THEN :DELAYED ELSE :READY END,
        available_at = CASE WHEN t.delay > 0 THEN now() + t.delay * interval '1 second' END,
        holder = NULL, lease_until = NULL, work_timeout = CASE WHEN m.notify & :REQUEST > 0 THEN m.work_timeout END,
        last_error = coalesce(t.error, m.last_error), last_client = coalesce(t.client, m.last_client)
    FROM target t
    WHERE NOT t.exhausted AND m.queue_id = ANY (ARRAY[t.queue_id]) AND m.index = ANY (ARRAY[t.index])
), ended AS (
    SELECT *, :RETRIED AS outcome, NULL::bytea AS kept_body, NULL::jsonb AS kept_extras FROM target WHERE NOT exhausted
), :JOURNALLED, noticed AS (
    INSERT INTO delivery_pendingnotice (session_id, stage, label, queue_id, queue_name, sequence, index)
    SELECT poster, :STAGE_RETRY, label, queue_id, CASE WHEN notify & :NAMED_SEVERAL > 0 THEN queue_name END,
           sequence, index
    FROM ended
    WHERE notify & :NOTIFY_RETRY > 0 AND poster_node IS DISTINCT FROM %(node)s
)
SELECT place, queue_id, sequence, index, poster, poster_node, label, notify, exhausted, delay FROM target
