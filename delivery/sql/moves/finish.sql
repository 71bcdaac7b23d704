-- finish: end claims that their holders completed; write the journal, count them, leave notices for other nodes.
-- Runs on: the message's primary key (IS NOT DISTINCT FROM keeps the planner from message_claimed, which would
-- walk over all that a busy client holds once for each message).
-- Shape: guarded by state, holder, ID and, where the client sent it, attempt; a row that does not come back was not
-- the caller's to end.
WITH :FINISHING, :JOURNALLED, :COUNTED, :FINISH_NOTICED
SELECT place, queue_id, sequence, index, poster, poster_node, label, notify FROM ended
