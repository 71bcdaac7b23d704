-- assign: give the waiting requests of one service to its workers, the one that has waited longest first.
-- Runs on: message_ready; worker_line, from its head; the message's primary key.
-- Shape: the caller holds the service locked (lock_services.sql), so this is the only assignment of the service in the
-- whole cluster. Workers that serve others too are locked by row: one that another service just gave its last slot is
-- passed over. As many workers are looked at as there are requests. Each slot of a worker has a round, and rounds come
-- before places in the line: whoever was given a request and has slots left goes to the end of the line. Of a service with limits
-- the caller has asked how many may go (`limited`; allowances.sql).
WITH wanted AS (
    SELECT count(*) AS requests
    FROM (
        SELECT FROM delivery_message
        WHERE queue_id = %(queue_id)s AND state = :READY AND (expires_at IS NULL OR expires_at > now())
        ORDER BY priority * -1, index
        LIMIT %(limit)s
    ) ready
), line AS MATERIALIZED (
    SELECT w.session_id, w.node_id, w.free, w.waited_since
    FROM delivery_worker w
    JOIN clients_session s ON s.id = w.session_id AND s.node_id = w.node_id
    JOIN clients_node n ON n.id = w.node_id AND NOT n.draining
    WHERE w.free > 0 AND w.queue_ids @> ARRAY[%(queue_id)s::bigint]
      AND n.heartbeat_at > now() - %(lapse)s * interval '1 second'
    ORDER BY w.waited_since
    LIMIT (SELECT requests FROM wanted)
    FOR UPDATE OF w
), slots AS (
    SELECT l.session_id, l.node_id, row_number() OVER (ORDER BY round, l.waited_since) AS place
    FROM line l CROSS JOIN LATERAL generate_series(1, least(l.free, %(limit)s)) AS round
), picked AS MATERIALIZED (
    SELECT m.queue_id, m.index, m.heartbeat_timeout, row_number() OVER (ORDER BY m.rank, m.index) AS place
    FROM (
        SELECT m.queue_id, m.priority * -1 AS rank, m.index, q.heartbeat_timeout
        FROM delivery_message m JOIN queues_queue q ON q.id = m.queue_id AND NOT q.paused AND q.kind = 'work'
                                                        AND (%(limited)s::boolean OR q.max_in_flight IS NULL AND q.rate IS NULL)
        WHERE m.queue_id = %(queue_id)s AND m.state = :READY AND (m.expires_at IS NULL OR m.expires_at > now())
        ORDER BY m.priority * -1, m.index
        LIMIT (SELECT least(count(*), %(limit)s) FROM slots)
        FOR UPDATE OF m SKIP LOCKED
    ) m
), pairs AS MATERIALIZED (
    SELECT p.queue_id, p.index, p.heartbeat_timeout, s.session_id, s.node_id, s.place
    FROM picked p JOIN slots s ON s.place = p.place
), turns AS MATERIALIZED (
    SELECT session_id, requests, nextval('delivery_worker_turn') AS turn
    FROM (SELECT session_id, count(*) AS requests FROM pairs GROUP BY session_id ORDER BY max(place)) used
), taken AS (
    UPDATE delivery_worker w SET free = w.free - t.requests, waited_since = t.turn
    FROM turns t
    WHERE w.session_id = t.session_id
), claimed AS (
    UPDATE delivery_message m
    SET state = :CLAIMED, holder = p.session_id, attempts = m.attempts + 1, assigned_at = now(), available_at = NULL,
        work_timeout = coalesce(m.work_timeout, p.heartbeat_timeout),
        lease_until = now() + coalesce(m.work_timeout, p.heartbeat_timeout) * interval '1 second'
    FROM pairs p
    WHERE m.queue_id = ANY (ARRAY[p.queue_id]) AND m.index = ANY (ARRAY[p.index])
    RETURNING p.place, m.holder, p.node_id, m.queue_id, m.sequence, m.index, m.attempts, m.body, m.work_timeout,
              m.poster, m.poster_node, m.label, m.notify
), :ASSIGN_NOTICED
SELECT * FROM claimed ORDER BY place
