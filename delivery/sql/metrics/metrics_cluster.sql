-- metrics_cluster: figures of the whole cluster, in one row.
-- Runs on: clients_session's index on node_id and session_held; delivery_worker as a whole; the catalogue.
-- Shape: at a scrape's pace, with a timeout. The journal's rows are PostgreSQL's own estimate: it has too many to count.
SELECT
    (SELECT count(*) FROM queues_queue) AS queues,
    nodes.live AS nodes_live, nodes.draining AS nodes_draining, nodes.silent AS nodes_silent,
    (SELECT count(*) FROM clients_session WHERE node_id IS NOT NULL) AS sessions_live,
    (SELECT count(*) FROM clients_session WHERE held_until IS NOT NULL) AS sessions_held,
    (SELECT count(*) FILTER (WHERE free > 0) FROM delivery_worker) AS workers_waiting,
    (SELECT count(*) FILTER (WHERE free = 0) FROM delivery_worker) AS workers_occupied,
    journal.days AS journal_days, journal.rows AS journal_rows, journal.bytes AS journal_bytes,
    pg_total_relation_size('delivery_message') AS messages_bytes,
    pg_total_relation_size('delivery_keptreply') AS kept_replies_bytes,
    (SELECT n_dead_tup FROM pg_stat_user_tables WHERE relid = 'delivery_message'::regclass) AS messages_dead_rows,
    (SELECT coalesce(extract(epoch FROM now() - min(xact_start)), 0)::float8
     FROM pg_stat_activity WHERE datname = current_database()) AS oldest_transaction
FROM (
    SELECT count(*) FILTER (WHERE alive AND NOT draining) AS live, count(*) FILTER (WHERE alive AND draining) AS draining,
           count(*) FILTER (WHERE NOT alive) AS silent
    FROM (
        SELECT draining, heartbeat_at > now() - %(lapse)s * interval '1 second' AS alive FROM clients_node
    ) node
) nodes
CROSS JOIN (
    SELECT count(*) FILTER (WHERE c.relname ~ '[0-9]{8}$') AS days,
           coalesce(sum(greatest(c.reltuples, 0)), 0)::bigint AS rows,
           coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint AS bytes
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = 'delivery_journal'::regclass
) journal
