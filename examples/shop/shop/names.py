"""What the shop calls its queues and its service at the broker."""

ORDERS = "shop.orders"  # work: each order is packed once
AUDIT = "shop.audit"  # a stream: what happened, for whoever reads along
NIGHTLY = "shop.nightly"  # work: a schedule posts here
PRICES = "shop.prices"  # a service: what something costs now
