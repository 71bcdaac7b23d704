-- connections_of_key: how many connections a key has on all nodes, as far as that is of interest.
-- Runs on: live_session_of_key.
-- Shape: sessions that ended stay a while, and are not looked at: they are on no node. The limit bounds what is found.
SELECT count(*) FROM (
    SELECT FROM clients_session WHERE key_id = %(key)s AND node_id IS NOT NULL LIMIT %(limit)s
) AS found
