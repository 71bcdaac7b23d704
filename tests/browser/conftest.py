"""A broker, programs that use it, and an operator in front of a real Chromium."""

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.browser.looking import DESK, Looks
from tests.browser.programs import Programs, running_programs
from tests.support.cluster import PATIENCE, Cluster
from tests.support.fixtures import StartCluster, name, queue, start_cluster
from willow_site.launcher.browser import NAMES, find_browser
from willow_site.project_folder import PROJECT_FOLDER

__all__ = ["name", "queue", "start_cluster"]

OPTIONS = ["--no-sandbox", "--disable-background-networking"]
OPERATOR = "operator"
PASSWORD = "correct horse battery staple"

expect.set_options(timeout=PATIENCE * 1000)


def manage(*arguments: str, **settings: str) -> None:
    subprocess.run([sys.executable, "manage.py", *arguments], cwd=PROJECT_FOLDER, env=os.environ | settings, check=True)


@pytest.fixture(scope="package")
def broker(start_cluster: StartCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A node and a reaper, with the console's files and a user who may do everything."""
    home = str(tmp_path_factory.mktemp("home"))
    manage("collectstatic", "--no-input", "--verbosity=0", WILLOW_HOME=home)
    with start_cluster(reaper=True, WILLOW_HOME=home) as cluster:
        account = ("createsuperuser", "--no-input", f"--username={OPERATOR}", "--email=operator@example.org")
        manage(*account, DATABASE_URL=cluster.database_url, DJANGO_SUPERUSER_PASSWORD=PASSWORD)
        yield cluster


@pytest.fixture(scope="package")  # Playwright's event loop runs all the while, and other folders need theirs
def chromium() -> Iterator[Browser]:
    program = find_browser()
    assert program, f"These tests need one of {', '.join(NAMES)}: on Debian, apt-get install chromium."
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=OPTIONS, timeout=PATIENCE * 1000)
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def login(broker: Cluster, chromium: Browser) -> dict[str, object]:
    """The cookies of an operator who has logged in by hand."""
    context = chromium.new_context(base_url=broker.node.http_url)
    context.set_default_timeout(PATIENCE * 1000)
    page = context.new_page()
    page.goto("/admin/")
    page.get_by_label("Username").fill(OPERATOR)
    page.locator("input[name=password]").fill(PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_url("**/console/")
    expect(page.locator(".screen")).to_be_visible()
    state = context.storage_state()
    context.close()
    return dict(state)


@pytest.fixture
def page(broker: Cluster, chromium: Browser, login: dict[str, object]) -> Iterator[Page]:
    """A page of the console, as the operator sees it. What the browser complains about fails the test."""
    context: BrowserContext = chromium.new_context(
        base_url=broker.node.http_url, viewport=DESK, storage_state=login, reduced_motion="reduce"
    )
    context.set_default_timeout(PATIENCE * 1000)
    page = context.new_page()
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda said: complaints.append(said.text) if "Content Security Policy" in said.text else None)
    yield page
    context.close()
    assert not complaints, complaints


@pytest.fixture
def looks(page: Page, request: pytest.FixtureRequest) -> Looks:
    return Looks(page, keep=request.config.getoption("--screens"))


@pytest.fixture
def programs(broker: Cluster) -> Iterator[Programs]:
    with running_programs(broker.node.url) as programs:
        yield programs
