-- valid_keys: of these keys those that are still good, as find_key.sql finds one.
-- Runs on: clients_key's primary key; clients_grant's index on key_id.
SELECT k.id, k.client_id, c.name, k.quotas, k.addresses, g.pattern, g.permissions
FROM clients_key k
JOIN clients_client c ON c.id = k.client_id
LEFT JOIN clients_grant g ON g.key_id = k.id
WHERE k.id = ANY (%(key)s) AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())
ORDER BY k.id
