"""What stands in the OpenAPI document as an example: of each request body, and of arguments by their name."""

from typing import Any

IDS = {"ids": ["12/345/345"]}
RECEIPT = {"receipt": "12/345/345/1"}
PLAN = {"queue": "reports", "message": "make them", "cron": "0 3 * * *", "time_zone": "Europe/Berlin"}

BODIES: dict[str, Any] = {
    "create_queue": {"name": "orders", "tags": ["eu"], "retry_limit": 5, "retry_delay": 10},
    "change_queue": {"retry_limit": 5, "max_length": 100000, "overflow": "reject"},
    "change_named_queue": {"retry_limit": 5},
    "post_message": {"queue": "orders", "tags": ["eu"], "message": '{"order": 17}', "priority": 1, "delay": 60},
    "pop_messages": {"queue": "orders", "tags": ["eu"], "count": 10, "timeout": 5},
    "fetch_messages": {"queue": "orders", "tags": ["eu"], "count": 1, "timeout": 5, "work_timeout": 60},
    "finish_message": {**RECEIPT, "sync": True},
    "fail_message": {**RECEIPT, "error": "no such customer", "delay": 30},
    "keep_message": RECEIPT,
    "release_message": RECEIPT,
    "retry_messages": {"filter": {"queue": "orders", "state": ["delayed"]}},
    "drop_messages": IDS,
    "move_messages": {**IDS, "to": 13},
    "set_priority": {**IDS, "priority": 9},
    "purge_dead_letters": {"filter": {"queue": "orders.dead", "older_than": 604800}},
    "start_redrive": {"filter": {"queue": "orders.dead"}, "rate": 50},
    "dry_run_redrive": {"filter": {"queue": "orders.dead"}},
    "create_key": {"client": "shop", "grants": ["orders*:post"], "expires_at": "2030-01-31T00:00:00Z"},
    "change_key": {"quotas": {"connections": 50, "posts_per_second": 500}, "addresses": ["10.0.0.0/8"]},
    "rotate_key": {"grace": 3600},
    "expire_key": {"expires_at": "2030-01-31T00:00:00Z"},
    "create_schedule": {"name": "nightly", **PLAN},
    "replace_schedule": PLAN,
    "change_schedule": {"enabled": False},
    "put_service_config": {"config": {"width": 800, "formats": ["png"]}, "heartbeat_interval": 5},
}

ARGUMENTS: dict[str, Any] = {
    "name": "orders",
    "queue": "orders",
    "queue_name": "orders",
    "client_name": "shop",
    "client": "shop",
    "prefix": "ord",
    "tag": ["eu"],
    "tags": ["eu"],
    "shard": 12,
    "sequence": 345,
    "index": 345,
    "number": 7,
    "limit": 100,
    "state": ["ready"],
}
