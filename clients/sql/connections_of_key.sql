-- connections_of_key: how many connections a key has on all nodes, as far as that is of interest.
-- Runs on: clients_session's index on key_id.
-- Shape: sessions that ended stay a while, so it is an index of all that were; the limit bounds what is found.
SELECT count(*) FROM (
    SELECT FROM clients_session WHERE key_id = %(key)s AND node_id IS NOT NULL AND ended_at IS NULL LIMIT %(limit)s
) AS found
