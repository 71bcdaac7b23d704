-- service_configs: what operators configured for these services.
-- Runs on: delivery_serviceconfig's unique index on name.
SELECT id, name, version, heartbeat_interval, config FROM delivery_serviceconfig WHERE name = ANY (%(service)s::text[])
