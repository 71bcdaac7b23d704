"""Keys for the clients of a test, made in the database without a look at the broker's own way."""

import hashlib
import secrets
from dataclasses import dataclass

from tests.support.cluster import Cluster

Grants = dict[str, set[str]]  # by pattern


@dataclass(frozen=True)
class ClientKey:
    """A key, and the means to change it under an open connection."""

    cluster: Cluster
    secret: str
    client: str
    id: int

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Token {self.secret}"}

    def grant(self, grants: Grants) -> None:
        """This and nothing else, at one stroke."""
        self.cluster.query(
            "WITH gone AS (DELETE FROM clients_grant WHERE key_id = %s AND pattern <> ALL (%s))"
            " INSERT INTO clients_grant (key_id, pattern, permissions)"
            " SELECT %s, pattern, string_to_array(permissions, ' ') FROM unnest(%s::text[], %s::text[])"
            " AS given (pattern, permissions)"
            " ON CONFLICT (key_id, pattern) DO UPDATE SET permissions = EXCLUDED.permissions",
            self.id,
            list(grants),
            self.id,
            list(grants),
            [" ".join(permissions) for permissions in grants.values()],
        )

    def expire(self) -> None:
        self.cluster.query("UPDATE clients_key SET expires_at = now() WHERE id = %s", self.id)


def make_key(cluster: Cluster, grants: Grants) -> ClientKey:
    """A key of a client of its own."""
    secret, client = f"wk_{secrets.token_urlsafe(32)}", f"client-{secrets.token_hex(8)}"
    [(key_id,)] = cluster.query(
        "WITH owner AS (INSERT INTO clients_client (name, persistent) VALUES (%s, true) RETURNING id)"
        " INSERT INTO clients_key (client_id, prefix, digest) SELECT id, %s, %s FROM owner RETURNING id",
        client,
        secret[:12],
        hashlib.sha256(secret.encode()).hexdigest(),
    )
    key = ClientKey(cluster, secret, client, key_id)
    key.grant(grants)
    return key
