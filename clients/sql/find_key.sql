-- find_key: a valid key's owner and grants; remembers that the key was used.
-- Runs on: clients_key_digest (unique).
WITH used AS (
    UPDATE clients_key SET last_used_at = now()
    WHERE digest = %(digest)s AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())
    RETURNING id, client_id, quotas, addresses
)
SELECT u.id, u.client_id, c.name, u.quotas, u.addresses, g.pattern, g.permissions
FROM used u
JOIN clients_client c ON c.id = u.client_id
LEFT JOIN clients_grant g ON g.key_id = u.id
