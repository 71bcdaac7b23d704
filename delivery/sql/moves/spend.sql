-- spend: messages of limited queues went, by a statement of the same transaction; seconds until each rate allows the
-- next one, where somebody waits for it.
-- Runs on: what _allowed.sql runs on: message_claimed, as far as the limit reaches; delivery_ratebucket's primary key.
WITH :ALLOWED, went AS (
    SELECT w.queue_id, w.messages, w.wanted = 1 AND a.level - w.messages < 1 AS wanted
    FROM unnest(%(limited)b::bigint[], %(messages)b::bigint[], %(wanted)b::bigint[]) AS w (queue_id, messages, wanted)
    JOIN allowed a ON a.id = w.queue_id
), :SPENT
SELECT a.id AS queue_id, (1 - a.level + w.messages) / a.rate AS next_in
FROM went w JOIN allowed a ON a.id = w.queue_id
WHERE w.wanted
