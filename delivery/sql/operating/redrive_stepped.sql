-- redrive_stepped: how far a redrive has come with its last step.
-- Runs on: delivery_redrivejob's primary key.
UPDATE delivery_redrivejob
SET moved = moved + %(moved)s, skipped = skipped + %(skipped)s, failed = failed + %(failed)s,
    returned = returned + %(returned)s, position = %(position)s, after_index = %(after_index)s, state = %(state)s::text,
    problem = coalesce(%(problem)s, problem), stepped_at = coalesce(%(now)s::timestamptz, now()),
    ended_at = CASE WHEN %(state)s::text IN ('done', 'undone') THEN coalesce(%(now)s::timestamptz, now()) END
WHERE id = %(job)s
