"""A relay whose key is not accepted, or not for everything: nothing is given up that another key would bring."""

import json

from willow_client import Client

from tests.integration.willow_django.conftest import Project
from tests.integration.willow_django.test_posting import POST, bodies
from tests.support.cluster import Cluster
from tests.support.keys import make_key

LEFT = """
from willow_django.models import OutboxMessage
print(json.dumps([row.refused for row in OutboxMessage.objects.all()]))
"""


def use_key(project: Project, secret: str) -> None:
    project.environ["SHOP_WILLOW"] = json.dumps(json.loads(project.environ["SHOP_WILLOW"]) | {"TOKEN": secret})


async def test_posts_wait_while_the_key_has_expired(
    broker: Cluster, shop_elsewhere: Project, client: Client, queue: str
) -> None:
    """It expires under the relay's connection; the next one is not let in."""
    key = make_key(broker, {"*": {"post", "create"}})
    use_key(shop_elsewhere, key.secret)
    left, error = shop_elsewhere.python(
        POST
        + f"""
import psycopg
from willow_client import Unauthorized
from willow_django.connections import blocking_client
from willow_django.relaying import relay_all
from willow_django.models import OutboxMessage
def write(*texts):
    with transaction.atomic():
        for text in texts:
            post({queue!r}, text)
write("with the key")
relay_all(blocking_client(), "default")
with psycopg.connect({broker.database_url!r}) as broker:
    broker.execute("UPDATE clients_key SET expires_at = now() WHERE id = {key.id}")
error = None
while error is None and not OutboxMessage.objects.exclude(refused="").exists():
    write("waits")
    try:
        relay_all(blocking_client(), "default")
    except Unauthorized as told:
        error = str(told)
print(json.dumps([[row.refused for row in OutboxMessage.objects.all()], error]))
"""
    )
    assert left == [""] and "does not accept this key" in error
    use_key(shop_elsewhere, make_key(broker, {"*": {"post", "create"}}).secret)
    shop_elsewhere.manage("willow_relay", "--once")
    assert shop_elsewhere.python(LEFT) == []
    assert await bodies(client, queue, 2) == ["with the key", "waits"]


async def test_posts_of_tasks_wait_while_the_key_is_wrong(shop_elsewhere: Project) -> None:
    use_key(shop_elsewhere, "wk_mistyped")
    left, tried = shop_elsewhere.python(
        """
from tests.support.shop import jobs
from willow_client import Unauthorized
from willow_django import task_queues
from willow_django.connections import blocking_client
from willow_django.relaying import relay_some
from willow_django.models import OutboxMessage
with transaction.atomic():
    jobs.add.enqueue(1, 2)
try:
    relay_some(blocking_client(), "default")
except Unauthorized:
    print(json.dumps([[row.refused for row in OutboxMessage.objects.all()], len(task_queues._made)]))
"""
    )
    assert (left, tried) == ([""], 0), "the queue is made with the next key"


async def test_what_was_refused_is_taken_up_again(
    broker: Cluster, shop_elsewhere: Project, client: Client, queue: str
) -> None:
    key = make_key(broker, {"elsewhere.*": {"post", "create"}})
    use_key(shop_elsewhere, key.secret)
    shop_elsewhere.python(POST + f"with transaction.atomic(): post({queue!r}, 'refused')")
    shop_elsewhere.manage("willow_relay", "--once")
    [refused] = shop_elsewhere.python(LEFT)
    assert "PermissionDenied" in refused
    key.grant({"*": {"post", "create"}})
    shop_elsewhere.manage("willow_relay", "--once")
    assert shop_elsewhere.python(LEFT) == [refused]
    shop_elsewhere.manage("willow_relay", "--once", "--again")
    assert shop_elsewhere.python(LEFT) == []
    assert await bodies(client, queue, 1) == ["refused"]
