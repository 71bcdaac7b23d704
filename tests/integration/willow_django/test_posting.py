"""Posts of a Django project: with the commit, or at once."""

import json

import pytest
from willow_client import Client

from tests.integration.willow_django.conftest import Project
from tests.support.cluster import Cluster

POST = "from willow_django import post, apost\n"


async def bodies(client: Client, queue: str, count: int) -> list[str]:
    taken: list[str] = []
    while len(taken) < count:
        taken += [message.text for message in await client.pop_many(queue, count, block_timeout=30)]
    return taken


@pytest.mark.parametrize("where", ["shop", "shop_elsewhere"])
async def test_posts_come_with_the_commit_or_not_at_all(
    request: pytest.FixtureRequest, client: Client, queue: str, where: str
) -> None:
    project: Project = request.getfixturevalue(where)
    in_outbox = project.python(
        POST
        + f"""
post({queue!r}, "at once")
with transaction.atomic():
    posted = post({queue!r}, {{"order": 1}}, priority=0)
    transaction.set_rollback(True)
with transaction.atomic():
    posted = post({queue!r}, {{"order": 2}})
    post({queue!r}, b"last")
print(json.dumps(posted.in_outbox))
"""
    )
    assert in_outbox is True
    if where == "shop_elsewhere":
        project.manage("willow_relay", "--once")
    assert await bodies(client, queue, 3) == ["at once", '{"order": 2}', "last"]


async def test_what_a_relay_brings_again_is_not_doubled(shop_elsewhere: Project, client: Client, queue: str) -> None:
    """As if it had died between the broker's answer and its own commit."""
    shop_elsewhere.python(
        POST
        + f"""
from willow_django.connections import blocking_client
from willow_django.relaying import relay_some
with transaction.atomic():
    post({queue!r}, "once", tags=["eu"], delay=0.001)
try:
    with transaction.atomic():
        relay_some(blocking_client(), "default")
        raise KeyboardInterrupt
except KeyboardInterrupt:
    pass
"""
    )
    shop_elsewhere.manage("willow_relay", "--once")
    await client.post(queue, "after it", tags=["eu"])
    assert sorted(await bodies(client, queue, 2)) == ["after it", "once"]


async def test_what_the_broker_refuses_stays_and_is_marked(shop_elsewhere: Project, client: Client, queue: str) -> None:
    left = shop_elsewhere.python(
        POST
        + f"""
from willow_django.connections import blocking_client
from willow_django.relaying import relay_some
from willow_django.models import OutboxMessage
with transaction.atomic():
    post({queue!r}, "refused")
    OutboxMessage.objects.update(arguments={{"headers": {{"Bad Name": "x"}}}})
    post({queue!r}, "taken")
relay_some(blocking_client(), "default")
print(json.dumps([row.refused for row in OutboxMessage.objects.all()]))
"""
    )
    assert len(left) == 1 and "headers" in left[0]
    assert await bodies(client, queue, 1) == ["taken"]


async def test_what_a_relay_brought_before_the_broker_went_away_does_not_come_again(
    shop_elsewhere: Project, queue: str
) -> None:
    """The broker may be away for longer than it knows a repeated post."""
    left = shop_elsewhere.python(
        POST
        + f"""
from willow_client import ConnectionLost
from willow_django.connections import blocking_client
from willow_django.relaying import relay_some
from willow_django.models import OutboxMessage
class GoesAway:
    posts = 0
    def post(self, *arguments, **how):
        self.posts += 1
        if self.posts == 2:
            raise ConnectionLost("it went away")
        return blocking_client().post(*arguments, **how)
with transaction.atomic():
    post({queue!r}, "brought")
    post({queue!r}, "not yet")
try:
    relay_some(GoesAway(), "default")
except ConnectionLost:
    print(json.dumps([bytes(row.body).decode() for row in OutboxMessage.objects.all()]))
"""
    )
    assert left == ["not yet"]


async def test_a_full_queue_holds_up_no_other(shop_elsewhere: Project, client: Client, queue: str) -> None:
    full, other = f"{queue}-full", f"{queue}-other"
    await client.create(full, max_length=1, overflow="reject")
    shop_elsewhere.python(
        POST
        + f"""
with transaction.atomic():
    for number in range(3):
        post({full!r}, str(number))
    post({other!r}, "on its way")
"""
    )
    shop_elsewhere.manage("willow_relay", "--once")
    assert await bodies(client, other, 1) == ["on its way"]
    assert await bodies(client, full, 1) == ["0"]
    shop_elsewhere.manage("willow_relay", "--once")
    assert await bodies(client, full, 1) == ["1"]


def test_what_is_wrong_is_said_before_it_is_in_the_outbox(shop_elsewhere: Project, queue: str) -> None:
    wrong = {
        "priority": -1, "delay": "5", "ttl": -1, "key": "", "dedupe": "", "group": 5, "unique": "", "tags": [1],
        "headers": {"Bad Name": "x"},
    }  # fmt: skip
    complaints = shop_elsewhere.python(
        POST
        + f"""
from willow_client import WillowError
said = []
for field, value in {wrong!r}.items():
    try:
        with transaction.atomic():
            post({queue!r}, "b", **{{field: value}})
    except ValueError as error:
        said.append(error.key)
try:
    with transaction.atomic():
        post({queue!r}, b"b" * (16 * 1024 * 1024 + 1))
except WillowError as error:
    said.append(error.code)
print(json.dumps(said))
"""
    )
    assert complaints == [*wrong, "TooLarge"]


async def test_the_schema_of_willow_need_not_be_on_the_search_path(
    broker: Cluster, shop: Project, client: Client, queue: str
) -> None:
    broker.query("CREATE SCHEMA IF NOT EXISTS shop")
    databases = json.loads(shop.environ["SHOP_DATABASES"])
    databases["default"]["OPTIONS"] = {"options": "-c search_path=shop"}
    shop.environ["SHOP_DATABASES"] = json.dumps(databases)
    shop.environ["SHOP_WILLOW"] = json.dumps(json.loads(shop.environ["SHOP_WILLOW"]) | {"SCHEMA": "public"})
    shop.python(POST + f"with transaction.atomic(): post({queue!r}, 'found', headers={{'a': 'b'}})")
    assert await bodies(client, queue, 1) == ["found"]


async def test_awaited_posts(shop: Project, client: Client, queue: str) -> None:
    shop.python(POST + f"import asyncio\nasyncio.run(apost({queue!r}, 'awaited'))")
    assert await bodies(client, queue, 1) == ["awaited"]


def test_clients_are_closed_with_their_event_loops(shop: Project, queue: str) -> None:
    """As in views that are called by WSGI, which have a loop of their own for each request."""
    first, last = shop.python(
        POST
        + f"""
import asyncio, os
open_files = []
for number in range(4):
    asyncio.run(apost({queue!r}, str(number)))
    open_files.append(len(os.listdir("/proc/self/fd")))
print(json.dumps([open_files[0], open_files[-1]]))
"""
    )
    assert last <= first


def test_a_transaction_without_autocommit_counts(shop: Project, queue: str) -> None:
    in_outbox = shop.python(
        POST
        + f"""
transaction.set_autocommit(False)
posted = post({queue!r}, "rolled back")
transaction.rollback()
print(json.dumps(posted.in_outbox))
"""
    )
    assert in_outbox is True


def test_bad_arguments_are_named(shop: Project, queue: str) -> None:
    complaints = shop.python(
        POST
        + f"""
said = []
for how in ({{"tags": "eu"}}, {{"colour": 1}}, {{"priority": -1}}):
    try:
        with transaction.atomic():
            post({queue!r}, "b", **how)
    except Exception as error:
        said.append(str(error))
print(json.dumps(said))
"""
    )
    for expected, said in zip(
        ["`tags` must be a list", "no argument 'colour'", "priority must"], complaints, strict=True
    ):
        assert expected in said


@pytest.mark.parametrize(
    ("willow", "complaint"),
    [
        ("{}", 'WILLOW["URL"] must be a URL'),
        ('{"URL": "ws://x/", "OUTBOX": "both"}', 'must be "own" or "shared"'),
        ('{"URL": "ws://x/", "COLOUR": 1}', "There are: URL"),
        ('{"URL": "ws://x/", "DATABASE": "other"}', "must be one of"),
        ('{"URL": "ws://x/", "DATABASE": ["other"]}', "must be one of"),
        ('{"URL": "http://x/"}', "Did you mean ws://x/?"),
        ('{"URL": ["ws://x/", "x:8080"]}', "is no WebSocket URL"),
    ],
)
def test_the_check_names_what_is_wrong(shop_elsewhere: Project, willow: str, complaint: str) -> None:
    shop_elsewhere.environ["SHOP_WILLOW"] = willow
    with pytest.raises(AssertionError) as failed:
        shop_elsewhere.manage("check")
    assert complaint in str(failed.value)
