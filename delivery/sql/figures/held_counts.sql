-- held_counts: how many messages each of some sessions holds.
-- Runs on: message_holder, once for each session.
SELECT s.id, (SELECT count(*) FROM delivery_message m WHERE m.holder = s.id AND m.state = :CLAIMED)
FROM unnest(%(session_id)s::bigint[]) AS s (id)
