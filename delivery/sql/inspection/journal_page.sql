-- journal_page: what became of messages, newest first: of one queue, or of all in the order of their transactions.
-- Runs on: delivery_journal_message, or delivery_journal_tx.
-- Shape: a bounded number of rows is looked at, whether the filter chooses them or not; the caller goes on from the
-- last one that was looked at. One of the two branches runs, the other is cut off by the queue. Both are given the
-- place where the last page ended as two numbers: index and id, or transaction and id.
WITH looked AS MATERIALIZED (
    (SELECT index AS place, * FROM delivery_journal
     WHERE %(queue_id)s::bigint IS NOT NULL AND queue_id = %(queue_id)s::bigint
       AND (%(index)s::bigint IS NULL OR index = %(index)s::bigint)
       AND (index, id) < (%(place)s::bigint, %(id)s::bigint)
     ORDER BY index DESC, id DESC LIMIT %(looked_at)s)
    UNION ALL
    (SELECT tx::text::bigint AS place, * FROM delivery_journal
     WHERE %(queue_id)s::bigint IS NULL AND (tx, id) < (%(place)s::bigint::text::xid8, %(id)s::bigint)
     ORDER BY tx DESC, id DESC LIMIT %(looked_at)s)
), matching AS (
    SELECT * FROM looked
    WHERE (%(outcome)s::text IS NULL OR outcome = %(outcome)s::text)
      AND (%(reason)s::text IS NULL OR reason = %(reason)s::text)
      AND (%(client)s::text IS NULL OR client = %(client)s::text)
      AND (%(ended_before)s::timestamptz IS NULL OR ended_at < %(ended_before)s::timestamptz)
      AND (%(ended_after)s::timestamptz IS NULL OR ended_at > %(ended_after)s::timestamptz)
    ORDER BY place DESC, id DESC
    LIMIT %(limit)s
)
SELECT l.rows_looked_at, l.last_place, l.last_id, m.*
FROM (
    SELECT count(*) AS rows_looked_at, (array_agg(place ORDER BY place, id))[1] AS last_place,
           (array_agg(id ORDER BY place, id))[1] AS last_id
    FROM looked
) l
LEFT JOIN matching m ON true
ORDER BY m.place DESC, m.id DESC
