-- take_notices: the notices that wait for sessions of this node.
-- Runs on: pending_notice_of_session, once for each session of the node.
WITH taken AS (
    DELETE FROM delivery_pendingnotice p
    USING clients_session s
    WHERE s.node_id = %(node)s AND p.session_id = s.id
    RETURNING p.*
)
SELECT session_id, stage, label, queue_id, queue_name, sequence, index, reply, notify FROM taken ORDER BY id
