"""Tests of a project that uses Willow: its posts in transactions that are never committed, and a broker for pytest."""

import subprocess
import sys
from pathlib import Path

from tests.integration.willow_django.conftest import ROOT, Project

TESTS_OF_A_PROJECT = """
from django.db import transaction
from django.test import TestCase, override_settings
from tests.support.shop import jobs
from willow_django import post
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

    @override_settings(TASKS={"default": {"BACKEND": "willow_django.tasks.WillowBackend", "QUEUES": []}})
    def test_a_backend_may_have_all_queues(self):
        jobs.add.using(queue_name="nobody named this").enqueue(1, 2)
        self.assertEqual(run_tasks(), 1)
"""


def test_a_test_case_sees_its_posts_and_runs_its_tasks(shop_elsewhere: Project, tmp_path: Path) -> None:
    folder = tmp_path / "shop_tests"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "test_orders.py").write_text(TESTS_OF_A_PROJECT)
    shop_elsewhere.environ["PYTHONPATH"] += f":{tmp_path}"
    shop_elsewhere.manage("test", "shop_tests")


def test_the_plugin_gives_names_that_no_other_test_uses(shop_elsewhere: Project, tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "def test_it(willow_queue, fake_willow, willow_url):\n"
        "    assert willow_queue('a') == willow_queue('a') != willow_queue('b')\n"
        "    fake_willow.assert_nothing_posted()\n"
        "    assert willow_url == 'ws://127.0.0.1:1/connect/'\n"
    )
    run = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "willow_testing.plugin",
        "-p",
        "no:django",
        "-p",
        "no:cacheprovider",
    ]
    done = subprocess.run(
        [*run, "--willow-url", "ws://127.0.0.1:1/connect/", "--rootdir", str(tmp_path), str(tmp_path / "test_it.py")],
        env={**shop_elsewhere.environ, "PYTHONPATH": str(ROOT / "sdk")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
