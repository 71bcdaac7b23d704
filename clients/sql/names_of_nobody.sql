-- names_of_nobody: how many names callers without a key have registered, as far as that is of interest.
-- Runs on: clients_client's index on owner_id.
-- Shape: clients that operators made have no owner either, and are not bound until their own keys register them.
SELECT count(*) FROM (SELECT FROM clients_client WHERE owner_id IS NULL AND bound LIMIT %(limit)s + 1) AS found
