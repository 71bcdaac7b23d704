"""The Python client of the Willow message broker: `async with willow_client.connect(url) as willow: ...`"""

from willow_client.client import Client, connect
from willow_client.errors import (
    BadArgument,
    BadRequest,
    ClaimLost,
    ConnectionFailed,
    ConnectionLost,
    Dropped,
    Failed,
    NoObject,
    ObjectAlreadyExists,
    Overloaded,
    PermissionDenied,
    Timeout,
    TooLarge,
    Unauthorized,
    Unavailable,
    WillowError,
)
from willow_client.frames import Queue, Registration, SubscriptionRecord
from willow_client.message import Message
from willow_client.options import Options
from willow_client.outcomes import GiveBack, GiveUp, Retry
from willow_client.posting import Draft, Posted
from willow_client.queue_settings import QueueSettings
from willow_client.receipt import Receipt
from willow_client.request import Request
from willow_client.running import run_worker
from willow_client.service_worker import ServiceWorker
from willow_client.serving import serve
from willow_client.subscription import Subscription
from willow_client.worker import JobEvent, QueueWorker

__all__ = [
    "BadArgument",
    "BadRequest",
    "ClaimLost",
    "Client",
    "ConnectionFailed",
    "ConnectionLost",
    "Draft",
    "Dropped",
    "Failed",
    "GiveBack",
    "GiveUp",
    "JobEvent",
    "Message",
    "NoObject",
    "ObjectAlreadyExists",
    "Options",
    "Overloaded",
    "PermissionDenied",
    "Posted",
    "Queue",
    "QueueSettings",
    "QueueWorker",
    "Receipt",
    "Registration",
    "Request",
    "Retry",
    "ServiceWorker",
    "Subscription",
    "SubscriptionRecord",
    "Timeout",
    "TooLarge",
    "Unauthorized",
    "Unavailable",
    "WillowError",
    "connect",
    "run_worker",
    "serve",
]
