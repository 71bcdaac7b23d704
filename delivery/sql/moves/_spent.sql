-- spent: what went is taken from what the rate of each queue has saved up. `wanted`: somebody waits for the next one.
spent AS (
    INSERT INTO delivery_ratebucket AS b (queue_id, tokens, filled_at, wanted)
    SELECT a.id, a.level - w.messages, a.at, w.wanted
    FROM went w JOIN allowed a ON a.id = w.queue_id
    WHERE a.rate IS NOT NULL
    ON CONFLICT (queue_id) DO UPDATE
    SET tokens = EXCLUDED.tokens, filled_at = EXCLUDED.filled_at, wanted = EXCLUDED.wanted
)
