-- take_redriven: some of what a redrive moved, to bring it back in the same order.
-- Runs on: redriven_of_job.
WITH taken AS (
    DELETE FROM delivery_redrivenmessage
    WHERE id IN (SELECT id FROM delivery_redrivenmessage WHERE job_id = %(job)s ORDER BY id LIMIT %(limit)s)
    RETURNING *
)
SELECT * FROM taken ORDER BY id
