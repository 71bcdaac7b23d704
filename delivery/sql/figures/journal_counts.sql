-- journal_counts: how many attempts and lives ended how, by queue and piece of time, in a slice of transactions.
-- Runs on: delivery_journal_tx.
-- Shape: only settled transactions, so that a slice read once is complete and nothing is counted twice.
SELECT queue_id, outcome, floor(extract(epoch FROM ended_at) / %(seconds)s)::bigint AS slot, count(*) AS ended
FROM delivery_journal
WHERE tx >= %(since)s::xid8 AND tx < %(until)s::xid8
GROUP BY 1, 2, 3
