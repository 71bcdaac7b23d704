"""Services in the admin: their figures and workers, and configurations with their history."""

import json
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.core.exceptions import ValidationError
from django.test import Client as Browser

from clients.models import Node, Session
from delivery.models import ServiceConfig, ServiceConfigVersion, Worker
from delivery.operating.audit import Operator, staff
from delivery.serving.changes import service_config_change, service_config_delete, service_config_restore
from delivery.serving.selectors import workers_of
from queues.models import Queue
from tests.support.operators import OPERATOR

pytestmark = pytest.mark.django_db

CONFIGS = "/admin/delivery/serviceconfig/"
VERSIONS = "/admin/delivery/serviceconfigversion/"
SERVICES = "/admin/delivery/service/"


def configure(config: Any, by: Operator = OPERATOR) -> ServiceConfig:
    return service_config_change(name="resize", config=config, heartbeat_interval=5.0, by=by)


def test_every_change_is_kept_with_who_and_what(admin_user: User) -> None:
    configure({"size": 1})
    service = configure({"size": 2}, staff(admin_user))
    assert (service.version, service.config) == (2, {"size": 2})
    kept = service.versions.order_by("version").values_list("version", "config", "changed_by")
    assert list(kept) == [(1, {"size": 1}, None), (2, {"size": 2}, admin_user.pk)]


def test_no_change_is_no_version() -> None:
    configure({"size": 1})
    assert configure({"size": 1}).version == 1
    assert configure({"size": 1.0}).version == 2  # another value, to those who tell them apart


def test_an_old_version_comes_back_as_the_newest(admin_user: User) -> None:
    configure({"size": 1})
    service = configure({"size": 2})
    restored = service_config_restore(version=service.versions.get(version=1), by=staff(admin_user))
    assert (restored.version, restored.config) == (3, {"size": 1})
    assert restored.versions.get(version=3).restored_from == 1


def test_the_current_version_cannot_be_restored() -> None:
    service = configure({"size": 1})
    with pytest.raises(ValidationError):
        service_config_restore(version=service.versions.get(), by=OPERATOR)


@pytest.mark.parametrize("name", ["", "n" * 193, "ümläut", "line\nbreak"])
def test_a_service_has_a_name_that_a_queue_can_have(name: str) -> None:
    with pytest.raises(ValidationError):
        service_config_change(name=name, config={}, heartbeat_interval=5, by=OPERATOR)


@pytest.mark.parametrize("seconds", [0, -1, 0.01, 1e10, float("nan"), float("inf")])
def test_a_heartbeat_interval_is_one_that_workers_can_keep(seconds: float) -> None:
    with pytest.raises(ValidationError):
        service_config_change(name="resize", config={}, heartbeat_interval=seconds, by=OPERATOR)


def test_a_configuration_is_deleted_with_its_history() -> None:
    service_config_delete(service=configure({}), by=OPERATOR)
    assert not ServiceConfigVersion.objects.exists()


def form(config: str, name: str = "resize") -> dict[str, str]:
    management = {"TOTAL_FORMS": "0", "INITIAL_FORMS": "0"}
    inline = {f"versions-{key}": value for key, value in management.items()}
    return {"name": name, "heartbeat_interval": "2.5", "config": config, **inline}


def test_a_configuration_is_made_and_changed_in_the_admin(admin_client: Browser, admin_user: User) -> None:
    assert admin_client.post(f"{CONFIGS}add/", form('{"size": 1}')).status_code == 302
    service = ServiceConfig.objects.get()
    data = form('{"size": 2}') | {"versions-TOTAL_FORMS": "1", "versions-INITIAL_FORMS": "1"}
    data |= {"versions-0-id": str(service.versions.get().pk), "versions-0-service": str(service.pk)}
    assert admin_client.post(f"{CONFIGS}{service.pk}/change/", data).status_code == 302
    service.refresh_from_db()
    assert (service.version, service.config, service.heartbeat_interval) == (2, {"size": 2}, 2.5)
    assert set(service.versions.values_list("changed_by", flat=True)) == {admin_user.pk}
    assert "restored" in admin_client.get(f"{CONFIGS}{service.pk}/change/").content.decode()


def test_an_empty_configuration_is_one_too(admin_client: Browser) -> None:
    assert admin_client.post(f"{CONFIGS}add/", form("{}")).status_code == 302
    service = ServiceConfig.objects.get()
    assert (service.config, service.heartbeat_interval) == ({}, 2.5)
    page = f"{CONFIGS}{service.pk}/change/"
    assert admin_client.post(page, form('{"size": 1}')).status_code == 302
    assert admin_client.post(page, form("{}")).status_code == 302
    assert list(service.versions.values_list("config", flat=True)) == [{}, {"size": 1}, {}]


BAD_CONFIGS = [
    "",
    "null",
    "[]",
    "[1]",
    "{",
    json.dumps({"bell": "\a"}),
    '{"size": NaN}',
    '{"size": 1e999}',
    '{"size": 1, "size": 2}',
    '{"size": ' + "1" * 5000 + "}",
    '{"deep": ' + "[" * 100_000 + "]" * 100_000 + "}",
]


@pytest.mark.parametrize("config", BAD_CONFIGS, ids=lambda config: config[:20])
def test_the_admin_refuses_a_bad_configuration(admin_client: Browser, config: str) -> None:
    answer = admin_client.post(f"{CONFIGS}add/", form(config))
    assert answer.status_code == 200
    assert answer.context["adminform"].form.errors["config"]
    assert not ServiceConfig.objects.exists()


@pytest.mark.parametrize("seconds", ["0", "-1", "0.001", "1e10", "nan", "soon", ""])
def test_the_admin_refuses_a_bad_heartbeat_interval(admin_client: Browser, seconds: str) -> None:
    answer = admin_client.post(f"{CONFIGS}add/", form("{}") | {"heartbeat_interval": seconds})
    assert answer.status_code == 200
    assert answer.context["adminform"].form.errors["heartbeat_interval"]
    assert not ServiceConfig.objects.exists()


def test_the_way_to_the_old_versions_is_shown(admin_client: Browser) -> None:
    service = configure({"size": 1})
    address = f"{VERSIONS}?service__id__exact={service.pk}"
    for page in (CONFIGS, f"{CONFIGS}{service.pk}/change/"):
        assert f'href="{address}"' in admin_client.get(page).content.decode()
    assert admin_client.get(address).context["cl"].result_count == 1


def test_a_configuration_is_deleted_in_the_admin(admin_client: Browser) -> None:
    service = configure({"size": 1})
    assert admin_client.post(f"{CONFIGS}{service.pk}/delete/", {"post": "yes"}).status_code == 302
    assert not ServiceConfigVersion.objects.exists()


def test_several_configurations_are_deleted_in_the_admin(admin_client: Browser) -> None:
    chosen = {"action": "delete_selected", "_selected_action": configure({}).pk, "post": "yes"}
    assert admin_client.post(CONFIGS, chosen).status_code == 302
    assert not ServiceConfig.objects.exists()


def test_only_who_may_delete_configurations_deletes_one(client: Browser) -> None:
    service = configure({"size": 1})
    viewer = User.objects.create_user("viewer", is_staff=True)
    viewer.user_permissions.add(Permission.objects.get(codename="view_serviceconfig"))
    client.force_login(viewer)
    assert client.post(f"{CONFIGS}{service.pk}/delete/", {"post": "yes"}).status_code == 403
    assert ServiceConfig.objects.exists()


def test_a_version_is_restored_in_the_admin(admin_client: Browser) -> None:
    configure({"size": 1})
    service = configure({"size": 2})
    old = service.versions.get(version=1)
    admin_client.post(VERSIONS, {"action": "restore", "_selected_action": [str(old.pk)]})
    service.refresh_from_db()
    assert service.config == {"size": 1}


def test_only_who_may_change_configurations_restores_one(client: Browser) -> None:
    reader = User.objects.create_user("reader", is_staff=True)
    reader.user_permissions.add(*_permissions("view_serviceconfigversion"))
    client.force_login(reader)
    configure({"size": 1})
    service = configure({"size": 2})
    client.post(VERSIONS, {"action": "restore", "_selected_action": [str(service.versions.get(version=1).pk)]})
    service.refresh_from_db()
    assert service.version == 2


def _permissions(*codenames: str) -> Any:
    return Permission.objects.filter(codename__in=codenames)


@pytest.fixture
def service_queue() -> Queue:
    return Queue.objects.create(
        name="service:resize", retry_limit=3, heartbeat_timeout=300, retry_delay=0, retry_backoff=2, retry_delay_max=300
    )


def stand_in_line(queue: Queue, identity: str, *, turn: int, free: int) -> None:
    node, _ = Node.objects.get_or_create(name="node-a", url="ws://a/connect/")
    Worker.objects.create(
        session=Session.objects.create(token=identity, node=node),
        node_id=node.pk,
        identity=identity,
        services=["resize"],
        queue_ids=[queue.pk],
        slots=2,
        free=free,
        waited_since=turn,
        heartbeat_interval=5,
        config_type="JSON",
        config_version="cafe",
    )


def test_workers_are_shown_in_the_order_of_the_line(admin_client: Browser, service_queue: Queue) -> None:
    stand_in_line(service_queue, "busy", turn=1, free=0)
    stand_in_line(service_queue, "second", turn=3, free=1)
    stand_in_line(service_queue, "first", turn=2, free=2)
    assert [worker.identity for worker in workers_of(service_queue.pk)] == ["first", "second", "busy"]
    page = admin_client.get(f"{SERVICES}{service_queue.pk}/change/").content.decode()
    assert page.index("<td>first</td>") < page.index("<td>second</td>") < page.index("<td>busy</td><td>busy</td>")
    assert "node-a" in page and "cafe" in page


def test_services_are_listed_with_their_figures(admin_client: Browser, service_queue: Queue) -> None:
    page = admin_client.get(SERVICES).content.decode()
    assert "resize" in page and "answered in the last hour" in page.lower()


def test_a_service_without_configuration_is_configured_under_its_name(
    admin_client: Browser, service_queue: Queue
) -> None:
    address = "/console/service-configs/new/?name=resize"
    assert f'href="{address}"' in admin_client.get(f"/console/services/{service_queue.pk}/").content.decode()
    assert admin_client.get(address).context["form"].initial["name"] == "resize"
