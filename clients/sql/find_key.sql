-- find_key: a valid key's owner and grants; remembers that the key was used.
-- Runs on: clients_key_digest (unique).
-- Shape: a key that is used all the time is written once a second, so that those who use it do not wait for each other.
WITH used AS (
    UPDATE clients_key SET last_used_at = now()
    WHERE digest = %(digest)s AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())
      AND (last_used_at IS NULL OR last_used_at < now() - interval '1 second')
)
SELECT k.id, k.client_id, c.name, k.quotas, k.addresses, g.pattern, g.permissions
FROM clients_key k
JOIN clients_client c ON c.id = k.client_id
LEFT JOIN clients_grant g ON g.key_id = k.id
WHERE k.digest = %(digest)s AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())
