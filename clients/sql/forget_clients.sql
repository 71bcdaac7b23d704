-- forget_clients: transient clients whose time is over and that are not connected, with all that they read.
-- Shape: a client that owns keys was made by an operator, who removes it too.
WITH forgotten AS (
    DELETE FROM clients_client c
    WHERE c.id IN (
        SELECT id FROM clients_client
        WHERE NOT persistent
          AND defined_at <= coalesce(%(now)s::timestamptz, now()) - %(seconds)s * interval '1 second'
          AND NOT EXISTS (SELECT FROM clients_key k WHERE k.client_id = clients_client.id)
          AND NOT EXISTS (
              SELECT FROM clients_session s JOIN clients_node n ON n.id = s.node_id
              WHERE s.client_id = clients_client.id AND s.ended_at IS NULL
          )
        LIMIT %(limit)s
        FOR UPDATE SKIP LOCKED
    )
    RETURNING c.id
), subscriptions AS (
    DELETE FROM clients_subscription s USING forgotten f WHERE s.client_id = f.id
), positions AS (
    DELETE FROM clients_position p USING forgotten f WHERE p.client_id = f.id
), sessions AS (
    UPDATE clients_session s SET client_id = NULL FROM forgotten f WHERE s.client_id = f.id
)
SELECT count(*) FROM forgotten
