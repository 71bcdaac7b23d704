"""Keys for clients that are somebody, put into the database as an operator's command would."""

import hashlib
import secrets

from tests.brokers.cluster import Cluster


def make_key(cluster: Cluster, *, client: str, pattern: str = "*", may: str = "post,fetch,create") -> str:
    """A key of the client with this name, which is made too, with one grant."""
    key = secrets.token_urlsafe(32)
    digest = hashlib.sha256(key.encode()).hexdigest()
    cluster.query(
        """
        WITH owner AS (INSERT INTO clients_client (name, persistent) VALUES (%s, true) RETURNING id),
        new_key AS (
            INSERT INTO clients_key (client_id, prefix, digest) SELECT id, %s, %s FROM owner RETURNING id
        )
        INSERT INTO clients_grant (key_id, pattern, permissions)
        SELECT id, %s, string_to_array(%s, ',') FROM new_key
        """,
        client,
        key[:8],
        digest,
        pattern,
        may,
    )
    return key
