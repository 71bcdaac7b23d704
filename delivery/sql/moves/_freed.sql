-- freed: the IDs of the messages that ended may be used again.
freed AS (
    INSERT INTO delivery_freesequences (queue_id, sequences)
    SELECT queue_id, array_agg(sequence) FROM ended GROUP BY queue_id
)
