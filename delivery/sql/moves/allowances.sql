-- allowances: how many messages of each limited queue may go now; NULL: any number.
-- Runs on: what _allowed.sql runs on: message_claimed, as far as the limit reaches.
WITH :ALLOWED
SELECT id AS queue_id, most FROM allowed
