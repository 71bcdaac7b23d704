"""The screens about schedules, as a browser without JavaScript sees them, and `manage.py schedule`."""

from datetime import UTC, datetime, timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.forms import BoundField
from django.test import Client as Browser
from django.utils import timezone

from console import readings
from delivery.models import AuditEntry, Message, Schedule
from delivery.operating.audit import Operator
from delivery.operating.schedules import schedule_change, schedule_create, values_of
from tests.support.admin_login import logged_in_browser
from tests.support.console_staff import staff_browser
from tests.support.operators import OPERATOR

pytestmark = pytest.mark.django_db

SCHEDULES = "/console/schedules/"
FORM = {"name": "nightly", "queue": "reports", "tags": "eu, big", "message": "go", "headers": "kind: report",
        "cron": "30 2 * * *", "time_zone": "Europe/Vienna", "missed": "one", "priority": "5", "unique": "only",
        "enabled": "on"}  # fmt: skip


@pytest.fixture
def browser() -> Browser:
    return logged_in_browser()


@pytest.fixture
def nightly() -> Schedule:
    values = {"name": "nightly", "queue": "reports", "message": b"secret", "cron": "@daily", "headers": {"a": "hush"}}
    return schedule_create(values=values, by=Operator("test", "staff"))


def address(schedule: Schedule, action: str = "") -> str:
    return f"{SCHEDULES}{schedule.pk}/{action}"


def test_one_is_made_after_a_preview(browser: Browser) -> None:
    previewed = browser.post(f"{SCHEDULES}new/", {**FORM, "preview": "yes"})
    times = previewed.context["times"]
    assert len(times) == 5 and not Schedule.objects.exists()
    assert {local.strftime("%H:%M") for _, local in times} <= {"02:30", "03:00"}
    made = browser.post(f"{SCHEDULES}new/", FORM)
    schedule = Schedule.objects.get(name="nightly")
    assert made.headers["Location"] == address(schedule)
    assert (schedule.tags, bytes(schedule.message), schedule.headers) == (["big", "eu"], b"go", {"kind": "report"})
    assert (schedule.unique_key, schedule.missed, schedule.priority, schedule.every) == ("only", "one", 5, None)
    page = browser.get(SCHEDULES).content.decode()
    assert "nightly" in page and "data-local" in page and ("CET" in page or "CEST" in page)


def test_what_a_form_cannot_show_stays_unless_somebody_changes_it(browser: Browser) -> None:
    half_past = datetime(2030, 1, 1, 0, 0, 0, 500_000, tzinfo=UTC)
    values = {"name": "exact", "queue": " q ", "tags": ["a,b"], "message": b"one\ntwo\r\n", "every": 60.0,
              "headers": {"a": " x ", "b": "1\n2"}, "unique": " u ", "starts_at": half_past}  # fmt: skip
    schedule = schedule_create(values=values, by=Operator("test", "staff"))
    form = browser.get(address(schedule, "edit/")).context["form"]
    shown = {field.name: _as_a_browser_sends(field) for field in form if field.value() not in (None, "")}
    browser.post(address(schedule, "edit/"), {**shown, "priority": "7"})
    schedule.refresh_from_db()
    assert schedule.priority == 7
    assert {field: values_of(schedule)[field] for field in values} == values
    browser.post(address(schedule, "edit/"), {**shown, "message": "one\r\nthree", "headers": "a: y", "tags": "c"})
    schedule.refresh_from_db()
    changed = values_of(schedule)
    assert (changed["message"], changed["headers"], changed["tags"]) == (b"one\nthree", {"a": "y"}, ["c"])


def _as_a_browser_sends(field: BoundField) -> str:
    shown = field.field.widget.format_value(field.value())
    text = "on" if shown is None else shown[0] if isinstance(shown, list) else str(shown)
    return text.replace("\r\n", "\n").replace("\n", "\r\n")


def test_a_preview_of_a_change_counts_from_where_the_schedule_counts(browser: Browser, nightly: Schedule) -> None:
    an_hour_ago = timezone.now() - timedelta(hours=1)
    Schedule.objects.filter(pk=nightly.pk).update(cron=None, every=86_400, anchor_at=an_hour_ago)
    form = {**FORM, "cron": "", "preview": "yes"}
    kept = browser.post(address(nightly, "edit/"), {**form, "every": "86400"}).context["times"]
    assert kept[0][0] == an_hour_ago + timedelta(days=1)
    changed = browser.post(address(nightly, "edit/"), {**form, "every": "86401"}).context["times"]
    assert changed[0][0] > an_hour_ago + timedelta(days=1, minutes=59)


def test_what_is_wrong_stands_beside_its_field(browser: Browser, nightly: Schedule) -> None:
    wrong = {"cron": "0 0 30 2 *", "time_zone": "Mars/Base", "every": "0.2", "headers": "willow-x: 1"}
    for field, value in wrong.items():
        form = browser.post(f"{SCHEDULES}new/", {**FORM, "name": "new", field: value}).context["form"]
        assert field in form.errors, field
    assert "name" in browser.post(f"{SCHEDULES}new/", FORM).context["form"].errors
    assert Schedule.objects.count() == 1


def test_one_is_changed_paused_resumed_run_and_deleted(browser: Browser, nightly: Schedule) -> None:
    assert browser.get(address(nightly, "edit/")).context["form"]["message"].value() == "secret"
    browser.post(address(nightly, "edit/"), {**FORM, "cron": "", "every": "90"})
    nightly.refresh_from_db()
    assert (nightly.every, nightly.cron, bytes(nightly.message)) == (90, None, b"go")
    browser.post(address(nightly, "switch/"))
    nightly.refresh_from_db()
    assert (nightly.enabled, nightly.next_due_at) == (False, None)
    browser.post(address(nightly, "switch/"))
    browser.post(address(nightly, "run/"))
    [message] = Message.objects.all()
    assert (message.headers["willow-schedule"], message.headers["kind"]) == ("nightly", "report")
    page = browser.get(address(nightly)).content.decode()
    assert f"/console/messages/{message.queue_id}/{message.index}/" in page
    assert "kind" in browser.get(f"/console/messages/{message.queue_id}/{message.index}/").content.decode()
    found = browser.get("/console/messages/", {"queue_id": message.queue_id, "header": "kind"})
    assert [row.index for row in found.context["found"].rows] == [message.index]
    none = browser.get("/console/messages/", {"queue_id": message.queue_id, "header": "other"})
    assert none.context["found"].rows == []
    browser.post(address(nightly, "delete/"))
    assert not Schedule.objects.exists()
    assert set(AuditEntry.objects.values_list("action", flat=True)) == {
        "create schedule", "change schedule", "run schedule", "delete schedule"
    }  # fmt: skip


def test_who_may_only_look_sees_neither_bodies_nor_buttons(nightly: Schedule) -> None:
    onlooker = staff_browser("look")
    page = onlooker.get(address(nightly)).content.decode()
    assert "secret" not in page and "hush" not in page and "Run now" not in page
    for action in ("edit/", "run/", "switch/", "delete/"):
        assert onlooker.post(address(nightly, action)).status_code == 403
    assert onlooker.get(f"{SCHEDULES}new/").status_code == 403


def test_what_is_due_and_not_posted_yet_stays_due_when_the_end_is_changed(nightly: Schedule) -> None:
    yesterday = timezone.now().replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=1)
    Schedule.objects.update(next_due_at=yesterday)
    later = schedule_change(schedule=nightly, changes={"ends_at": yesterday + timedelta(days=9)}, by=OPERATOR)
    assert later.next_due_at == yesterday
    paused = schedule_change(schedule=nightly, changes={"enabled": False}, by=OPERATOR)
    assert paused.next_due_at is None


def test_what_is_late_is_told(browser: Browser, nightly: Schedule) -> None:
    Schedule.objects.update(next_due_at=timezone.now() - timedelta(minutes=5, seconds=30))
    readings.late_schedules.forget()
    assert "5 min" in browser.get(SCHEDULES).content.decode()
    reasons = browser.get("/console/").context["light"].reasons
    assert any("nightly" in reason.sentence and "late" in reason.sentence for reason in reasons)


def command(*arguments: str) -> str:
    out = StringIO()
    call_command("schedule", *arguments, stdout=out)
    return out.getvalue()


def test_the_command_does_the_same() -> None:
    made = ("create", "hourly", "--queue", "q", "--message", "m", "--cron", "@hourly", "--header", "a=b=c")
    assert "is due" in command(*made)
    assert "hourly" in command("list") and "(UTC)" in command("list")
    command("change", "hourly", "--every", "60", "--tag", "x")
    schedule = Schedule.objects.get()
    assert (schedule.every, schedule.cron, schedule.headers, schedule.tags) == (60, None, {"a": "b=c"}, ["x"])
    assert len(command("next", "hourly", "--count", "3").splitlines()) == 3
    command("pause", "hourly")
    assert "paused" in command("list")
    assert command("change", "hourly", "--every", "61") == "The schedule hourly is paused.\n"
    command("resume", "hourly")
    assert "is over" in command("change", "hourly", "--ends-at", "2020-01-01T00:00:00Z")
    assert "is posted" in command("run", "hourly")
    assert '"queue": "q"' in command("show", "hourly")
    command("delete", "hourly")
    assert not Schedule.objects.exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("create", "n", "--queue", "q", "--message", "m"), "cron: A schedule needs"),
        (("create", "n", "--queue", "q", "--message", "m", "--every", "0.5"), "every: This must be"),
        (("create", "n", "--queue", "q", "--message", "m", "--every", "nan"), "every: This must be"),
        (("create", "n", "--queue", "q", "--every", "5"), "message: This field is required"),
        (("create", "n", "--queue", "q", "--message", "m", "--every", "5", "--header", "x"), "headers: "),
        (("create", "n", "--queue", "q", "--message", "m", "--every", "5", "--starts-at", "soon"), "starts_at: "),
        (("pause", "n"), "There is no schedule n."),
    ],
)
def test_the_command_says_what_is_wrong(arguments: tuple[str, ...], said: str) -> None:
    with pytest.raises(CommandError, match=said):
        command(*arguments)
