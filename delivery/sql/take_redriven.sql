-- take_redriven: some of what a redrive moved, to bring it back.
-- Runs on: redriven_of_job.
DELETE FROM delivery_redrivenmessage
WHERE id IN (SELECT id FROM delivery_redrivenmessage WHERE job_id = %(job)s ORDER BY id LIMIT %(limit)s)
RETURNING *
