-- bind_session: from now on this session is the client's, unless it has ended meanwhile.
-- Runs on: clients_session's primary key; one_live_session_per_client is what keeps it the only one.
UPDATE clients_session SET client_id = %(client)s WHERE id = %(session)s AND ended_at IS NULL
