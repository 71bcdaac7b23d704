-- leave_line: these sessions are workers of this node no more.
-- Runs on: delivery_worker's primary key.
-- Shape: waits for an assignment that has one of the rows, so what a session holds can be told for sure afterwards.
DELETE FROM delivery_worker WHERE session_id = ANY (%(session)s::bigint[]) AND node_id = %(node)s
