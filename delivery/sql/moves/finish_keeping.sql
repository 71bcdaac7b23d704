-- finish_keeping: end claims as finish.sql does, of which some are of queues that keep replies.
-- Runs on: the message's primary key (IS NOT DISTINCT FROM: see finish.sql); clients_session's primary key.
-- Shape: a statement of its own, so that queues which keep none pay nothing for it.
WITH :FINISHING, :JOURNALLED, :COUNTED, :FINISH_NOTICED, :REPLY_KEPT
SELECT place, queue_id, sequence, index, poster, poster_node, label, notify FROM ended
