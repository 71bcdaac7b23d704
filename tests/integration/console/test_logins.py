"""Logging in: guessing is stopped, and a second factor is asked for where there is one."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client as Browser
from django_otp.oath import totp
from django_otp.plugins.otp_totp.models import TOTPDevice

from delivery.models import AuditEntry
from willow_site.secret_files import kept_secret

pytestmark = pytest.mark.django_db

PASSWORD = "correct horse"
LOGIN, FACTOR = "/admin/login/?next=/admin/", "/console/second-factor/"


@pytest.fixture
def user() -> User:
    return User.objects.create_superuser("operator", password=PASSWORD)


def log_in(browser: Browser, password: str = PASSWORD, address: str = "198.51.100.7") -> int:
    return browser.post(LOGIN, {"username": "operator", "password": password}, REMOTE_ADDR=address).status_code


def code_of(device: TOTPDevice, step: int = 0) -> str:
    return f"{totp(device.bin_key, t0=-30 * step):06}"


def set_up(browser: Browser, code: str = "") -> TOTPDevice:
    page = browser.get(FACTOR).content.decode()
    device = TOTPDevice.objects.get()
    assert "data:image/svg+xml" in page
    assert browser.post(FACTOR, {"code": code or code_of(device)}).status_code == 302
    device.refresh_from_db()
    assert device.confirmed
    return device


def forget_throttling() -> None:
    TOTPDevice.objects.update(last_t=-1, throttling_failure_count=0, throttling_failure_timestamp=None)


def test_too_many_wrong_passwords_lock_the_account_for_that_address(user: User) -> None:
    browser = Browser()
    statuses = [log_in(browser, "wrong") for _ in range(django_settings.WILLOW.lockout_failures)]
    assert set(statuses[:-1]) == {200}
    assert log_in(browser) == 429, "also the right one"
    assert log_in(Browser(), address="198.51.100.8") == 302, "its owner elsewhere is not locked out"
    call_command("axes_reset_username", "operator")
    assert log_in(browser) == 302


def test_who_has_set_up_a_second_factor_needs_it(user: User) -> None:
    browser = Browser()
    log_in(browser)
    device = set_up(browser)
    assert browser.get("/console/").status_code == 200
    again = Browser()
    log_in(again)
    for page in ("/console/", "/console/queues/", "/admin/auth/user/"):
        answer = again.get(page)
        assert (answer.status_code, answer.headers["Location"].split("?")[0]) == (302, FACTOR)
    assert again.get("/api/nodes").status_code in (401, 403), "nor is the password enough over REST"
    forget_throttling()
    assert again.post(FACTOR, {"code": "abc"}).status_code == 200
    assert again.get("/console/").status_code == 302
    wanted = again.post(f"{FACTOR}?next=/console/nodes/", {"code": code_of(device)})
    assert (wanted.status_code, wanted.headers["Location"]) == (302, "/console/nodes/")
    assert again.get("/console/").status_code == 200
    assert again.get("/api/nodes").status_code == 200
    assert [entry.action for entry in AuditEntry.objects.all()] == ["set up second factor"]


def test_a_code_is_good_once(user: User) -> None:
    browser = Browser()
    log_in(browser)
    browser.get(FACTOR)
    used = code_of(TOTPDevice.objects.get())
    set_up(browser, used)
    other = Browser()
    log_in(other)
    assert other.post(FACTOR, {"code": used}).status_code == 200
    assert other.get("/console/").status_code == 302


def test_wrong_codes_lock_as_wrong_passwords_do(user: User) -> None:
    browser = Browser()
    log_in(browser)
    set_up(browser)
    guessing = Browser()
    log_in(guessing)
    for _ in range(django_settings.WILLOW.lockout_failures):
        forget_throttling()
        answer = guessing.post(FACTOR, {"code": "000"}, REMOTE_ADDR="198.51.100.7")
    assert answer.status_code == 429
    assert guessing.get(FACTOR).headers["Location"].startswith("/admin/login/"), "logged out"
    assert log_in(Browser()) == 429


def test_where_it_is_required_nothing_works_before_it_is_set_up(user: User, settings: Any) -> None:
    settings.WILLOW = replace(settings.WILLOW, second_factor="required")
    browser = Browser()
    log_in(browser)
    assert browser.get("/console/").headers["Location"].startswith(FACTOR)
    set_up(browser)
    assert browser.get("/console/").status_code == 200


def test_it_is_removed_with_a_code_or_at_the_shell(user: User) -> None:
    browser = Browser()
    log_in(browser)
    device = set_up(browser)
    forget_throttling()
    browser.post(FACTOR, {"code": code_of(device)})
    assert not TOTPDevice.objects.exists()
    set_up(browser)
    call_command("second_factor", "operator")
    assert not TOTPDevice.objects.exists()
    actions = list(AuditEntry.objects.order_by("id").values_list("action", "actor_kind"))
    assert actions[1::2] == [("remove second factor", "staff"), ("remove second factor", "system")]


def test_the_deployment_check_is_clean_with_https(settings: Any, tmp_path: Path) -> None:
    """As `./willow up` runs with a certificate, and a secret that it has made itself."""
    settings.SECRET_KEY = kept_secret(tmp_path / "secret-key")
    settings.SESSION_COOKIE_SECURE = settings.CSRF_COOKIE_SECURE = True
    settings.SECURE_HSTS_SECONDS = 31_536_000
    call_command("check", "--deploy", "--fail-level", "WARNING")
