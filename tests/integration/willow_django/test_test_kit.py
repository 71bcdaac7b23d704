"""Tests of a project that uses Willow: its posts in transactions that are never committed, and a broker for pytest."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from willow_client import ConnectionFailed, sync
from willow_testing.plugin import START_SECONDS, STOP_SECONDS

from tests.integration.willow_django.conftest import ROOT, Project
from willow_site.launcher.foreground import without_settings

TESTS_OF_A_PROJECT = """
from django.db import transaction
from django.test import TestCase, override_settings
from tests.support.shop import jobs
from willow_django import post
from willow_django.tasks import WillowTask
from willow_django.testing import assert_posted, posted, run_tasks


class OrderTests(TestCase):
    def test_posts_are_looked_at(self):
        post("orders", {"order": 17}, priority=3)
        with self.assertRaises(ZeroDivisionError), transaction.atomic():
            post("orders", {"order": 18})
            1 / 0
        [found] = assert_posted("orders", matching={"order": 17}, times=1)
        self.assertEqual((found.priority, len(posted())), (3, 1))

    def test_tasks_are_run_now(self):
        results = [jobs.add.enqueue(1, 2), jobs.third_time_lucky.enqueue(), jobs.broken.enqueue()]
        self.assertEqual(run_tasks(), 3)
        for result in results:
            result.refresh()
        self.assertEqual([result.status for result in results], ["SUCCESSFUL", "SUCCESSFUL", "FAILED"])
        self.assertEqual([result.attempts for result in results], [1, 3, 1])

    def test_a_task_that_breaks_the_transaction_harms_nobody_else(self):
        results = [jobs.written_twice.enqueue(), jobs.add.enqueue(1, 2)]
        self.assertEqual(run_tasks(), 2)
        for result in results:
            result.refresh()
        self.assertEqual([result.status for result in results], ["FAILED", "SUCCESSFUL"])
        self.assertEqual(results[0].errors[0].exception_class_path, "django.db.utils.IntegrityError")

    def test_what_a_task_wrote_before_it_failed_stays(self):
        jobs.writes_and_fails.enqueue()
        run_tasks()
        assert_posted("written", times=1)

    def test_a_unique_task_runs_once_while_it_waits(self):
        unique = WillowTask(func=jobs.add.func, backend="default", unique="one")
        results = [unique.enqueue(1, 2), unique.using(priority=50).enqueue(3, 4)]
        self.assertEqual(run_tasks(), 1)
        results.append(unique.enqueue(5, 6))
        self.assertEqual(run_tasks(), 1)
        for result in results:
            result.refresh()
        self.assertEqual([result.status for result in results], ["SUCCESSFUL", "READY", "SUCCESSFUL"])

    def test_a_unique_task_that_enqueues_itself_is_not_stored(self):
        jobs.again.enqueue()
        self.assertEqual(run_tasks(), 1)

    @override_settings(TASKS={"default": {"BACKEND": "willow_django.tasks.WillowBackend", "QUEUES": []}})
    def test_a_backend_may_have_all_queues(self):
        jobs.add.using(queue_name="nobody named this").enqueue(1, 2)
        self.assertEqual(run_tasks(), 1)
"""


@pytest.mark.parametrize("where", ["shop", "shop_elsewhere"])
def test_a_test_case_sees_its_posts_and_runs_its_tasks(
    request: pytest.FixtureRequest, where: str, tmp_path: Path
) -> None:
    """On PostgreSQL, where a statement that failed breaks its transaction, and on SQLite."""
    project: Project = request.getfixturevalue(where)
    project.environ["SHOP_WILLOW"] = json.dumps(json.loads(project.environ["SHOP_WILLOW"]) | {"OUTBOX": "own"})
    folder = tmp_path / "shop_tests"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "test_orders.py").write_text(TESTS_OF_A_PROJECT)
    project.environ["PYTHONPATH"] += f":{tmp_path}"
    project.manage("test", "--noinput", "shop_tests")


def run_pytest(folder: Path, test: str, *arguments: str, **environ: str) -> None:
    done = pytest_of_a_project(folder, test, "--rootdir", str(folder), *arguments, **environ)
    assert done.returncode == 0, done.stdout + done.stderr


def pytest_of_a_project(folder: Path, test: str, *arguments: str, **environ: str) -> "subprocess.CompletedProcess[str]":
    """With the plugin, as in a project that has nothing of Willow but the client."""
    file = folder / "test_it.py"
    file.write_text(test)
    plugins = ("-p", "willow_testing.plugin", "-p", "no:django", "-p", "no:cacheprovider")
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *plugins, *arguments, str(file)],
        env={**without_settings(os.environ), "PYTHONPATH": str(ROOT / "sdk"), **environ},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=START_SECONDS + STOP_SECONDS,
    )


@pytest.mark.parametrize(("option", "status"), [(("--willow-checkout={}",), 0), (("--willow-checkout", "{}"), 4)])
def test_the_settings_of_willow_are_not_those_of_the_project(
    tmp_path: Path, option: tuple[str, ...], status: int
) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    arguments = [part.format(ROOT) for part in option]
    done = pytest_of_a_project(tmp_path, "def test_it(fake_willow): pass", *arguments)
    assert done.returncode == status, done.stdout + done.stderr
    assert ("Write --willow-checkout=" in done.stderr) == bool(status)


def test_the_plugin_gives_names_that_no_other_test_uses(tmp_path: Path) -> None:
    test = """
def test_it(willow_queue, fake_willow, willow_url):
    assert willow_queue('a') == willow_queue('a') != willow_queue('b')
    fake_willow.assert_nothing_posted()
    assert willow_url == 'ws://127.0.0.1:1/connect/'
"""
    run_pytest(tmp_path, test, "--willow-url", "ws://127.0.0.1:1/connect/")


def test_the_plugin_starts_a_real_broker_and_stops_it(tmp_path: Path, home: Path) -> None:
    test = """
from pathlib import Path
from willow_client import sync

def test_it(willow_url, willow_queue):
    Path("url").write_text(willow_url)
    with sync.connect(willow_url) as willow:
        willow.post(willow_queue("orders"), "17")
        assert willow.fetch(willow_queue("orders"), block_timeout=10).text == "17"

def test_the_same_broker(willow_url, willow_queue):
    assert Path("url").read_text() == willow_url
    with sync.connect(willow_url) as willow:
        assert willow.fetch(willow_queue("orders")) is None
"""
    run_pytest(tmp_path, test, WILLOW_CHECKOUT=str(ROOT), TMPDIR=str(home.parent))
    with pytest.raises(ConnectionFailed):
        sync.connect((tmp_path / "url").read_text()).open()
    assert not list(home.parent.glob("willow-tests-*"))
