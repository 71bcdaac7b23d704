-- journal_page: what became of messages, newest first: of one queue, or of all in the order of their transactions.
-- Runs on: delivery_journal_message, or delivery_journal_tx.
-- Shape: a bounded number of rows is looked at, whether the filter chooses them or not; the caller goes on from the
-- last one that was looked at. One of the two branches runs, the other is cut off by the queue. `ordinal` is what
-- rows are ordered by before their id: the index in a queue, the transaction in the whole journal.
WITH looked AS MATERIALIZED (
    (SELECT index AS ordinal, * FROM delivery_journal
     WHERE %(queue_id)s::bigint IS NOT NULL AND queue_id = %(queue_id)s::bigint
       AND (%(index)s::bigint IS NULL OR index = %(index)s::bigint)
       AND (index, id) < (%(last_ordinal)s::bigint, %(last_id)s::bigint)
     ORDER BY index DESC, id DESC LIMIT %(looked_at)s)
    UNION ALL
    (SELECT tx::text::bigint AS ordinal, * FROM delivery_journal
     WHERE %(queue_id)s::bigint IS NULL AND (tx, id) < (%(last_ordinal)s::bigint::text::xid8, %(last_id)s::bigint)
     ORDER BY tx DESC, id DESC LIMIT %(looked_at)s)
), matching AS (
    SELECT * FROM looked
    WHERE (%(outcome)s::text IS NULL OR outcome = %(outcome)s::text)
      AND (%(reason)s::text IS NULL OR reason = %(reason)s::text)
      AND (%(client)s::text IS NULL OR client = %(client)s::text)
      AND (%(ended_before)s::timestamptz IS NULL OR ended_at < %(ended_before)s::timestamptz)
      AND (%(ended_after)s::timestamptz IS NULL OR ended_at > %(ended_after)s::timestamptz)
      AND (%(header)s::text IS NULL OR extras -> 'headers' ? %(header)s::text)
    ORDER BY ordinal DESC, id DESC
    LIMIT %(limit)s
)
SELECT l.rows_looked_at, l.reached_ordinal, l.reached_id, m.*
FROM (
    SELECT count(*) AS rows_looked_at, (array_agg(ordinal ORDER BY ordinal, id))[1] AS reached_ordinal,
           (array_agg(id ORDER BY ordinal, id))[1] AS reached_id
    FROM looked
) l
LEFT JOIN matching m ON true
ORDER BY m.ordinal DESC, m.id DESC
