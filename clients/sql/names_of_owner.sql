-- names_of_owner: how many names a client has registered, apart from its own.
-- Runs on: clients_client's index on owner_id.
SELECT count(*) FROM clients_client WHERE owner_id = %(owner)s AND id <> %(owner)s
