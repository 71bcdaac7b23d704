"""The Python client of the Willow message broker: `async with willow_client.connect(url) as willow: ...`"""

from willow_client.client import Client, connect
from willow_client.errors import DisconnectedError, WillowError
from willow_client.frames import Queue, Registration, SubscriptionRecord
from willow_client.message import Message, Receipt
from willow_client.request import Request
from willow_client.subscription import Subscription
from willow_client.worker import Worker, serve

__all__ = [
    "Client",
    "DisconnectedError",
    "Message",
    "Queue",
    "Receipt",
    "Registration",
    "Request",
    "Subscription",
    "SubscriptionRecord",
    "WillowError",
    "Worker",
    "connect",
    "serve",
]
