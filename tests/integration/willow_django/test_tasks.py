"""Django's tasks on Willow: enqueued, run by a worker, and asked for afterwards."""

import json
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from tests.integration.willow_django.conftest import Project
from tests.support.cluster import PATIENCE, Cluster, wait_until
from tests.support.keys import make_key
from tests.support.launched_willow import free_port

RUN = """
import time
from tests.support.shop import jobs
from willow_django.tasks_api import task_backends

def found(id):
    return task_backends["default"].get_result(id)

def ended(result):
    while not result.is_finished:
        time.sleep(0.02)
        result.refresh()
    return result

def told(result):
    result = ended(result)
    return {
        "status": result.status,
        "value": result.return_value if result.status == "SUCCESSFUL" else None,
        "errors": [(error.exception_class_path, error.traceback.strip().splitlines()[-1]) for error in result.errors],
        "attempts": result.attempts,
    }
"""

READS = "SELECT 1 FROM clients_node n JOIN queues_queue q ON jsonb_exists(n.readers, q.id::text) WHERE q.name = %s"


@pytest.mark.parametrize("run_in", ["thread", "process"])
def test_tasks_run_and_tell_what_became_of_them(shop: Project, run_in: str) -> None:
    with shop.running("willow_worker", "--queues", "default,emails", "--concurrency", "2", "--run-in", run_in):
        told = shop.python(
            RUN
            + """
jobs.request_id.set("request 17")
results = [
    jobs.add.enqueue(1, b=2),
    jobs.add_later.enqueue(3, 4),
    jobs.broken.enqueue(),
    jobs.third_time_lucky.enqueue(),
    jobs.which_request.enqueue(),
]
print(json.dumps([told(result) for result in results]))
"""
        )
    assert [(result["status"], result["value"], result["attempts"]) for result in told] == [
        ("SUCCESSFUL", 3, 1),
        ("SUCCESSFUL", 7, 1),
        ("FAILED", None, 1),
        ("SUCCESSFUL", 3, 3),
        ("SUCCESSFUL", "request 17", 1),
    ]
    assert told[2]["errors"] == [["builtins.ValueError", "ValueError: it is broken"]]
    assert [text for _, text in told[3]["errors"]] == ["ConnectionError: attempt 1", "ConnectionError: attempt 2"]


def test_a_task_of_a_transaction_runs_after_its_commit(shop: Project) -> None:
    status: Any
    with shop.running("willow_worker", "--concurrency", "1"):
        status, missing, value = shop.python(
            RUN
            + """
from willow_django.tasks_api import TaskResultDoesNotExist
with transaction.atomic():
    gone = jobs.add.enqueue(0, 0)
    transaction.set_rollback(True)
with transaction.atomic():
    result = jobs.add.enqueue(2, 2)
    inside = jobs.add.get_result(result.id).status
try:
    jobs.add.get_result(gone.id)
except TaskResultDoesNotExist:
    missing = True
print(json.dumps([inside, missing, ended(result).return_value]))
"""
        )
    assert (status, missing, value) == ("READY", True, 4)


def test_a_task_may_clean_up_when_its_time_is_over(shop: Project) -> None:
    with shop.running("willow_worker", "--concurrency", "1", "--soft-time-limit", "0.3"):
        told = shop.python(RUN + "print(json.dumps(told(jobs.too_slow.enqueue())))")
    assert (told["status"], told["value"]) == ("SUCCESSFUL", "cleaned up")


@pytest.mark.parametrize("run_in", ["thread", "process"])
def test_a_task_that_hangs_is_given_up_and_tried_as_often_as_it_says(shop: Project, run_in: str) -> None:
    """And it does not keep the worker from ending."""
    with shop.running("willow_worker", "--concurrency", "1", "--time-limit", "3", "--run-in", run_in):
        told = shop.python(
            RUN
            + """
results = [jobs.hangs.enqueue(), jobs.hangs_on_the_loop.enqueue(), jobs.add.enqueue(1, 1)]
print(json.dumps([told(result) for result in results]))
"""
        )
    assert [(result["status"], result["attempts"]) for result in told] == [
        ("FAILED", 2),
        ("FAILED", 2),
        ("SUCCESSFUL", 1),
    ]
    limit = "willow_django.limits.TimeLimitExceeded"
    assert [[path for path, _ in result["errors"]] for result in told[:2]] == [[limit, limit]] * 2


READY = """
    SELECT m.attempts FROM delivery_message m JOIN queues_queue q ON q.id = m.queue_id
    WHERE q.name = %s AND m.state = 0
"""
LEFT = "SELECT 1 FROM delivery_message m JOIN queues_queue q ON q.id = m.queue_id WHERE q.name = %s"
NOT_SUCCESSFUL = """
    SELECT status, worker_ids FROM willow_django_taskrecord WHERE id = ANY(%s) AND status <> 'SUCCESSFUL'
"""


def test_what_waits_in_a_worker_is_given_back_when_it_stops(broker: Cluster, shop: Project, tmp_path: Path) -> None:
    go = tmp_path / "go"
    queue = f"{shop.prefix}default"
    ids = shop.python(RUN + f"print(json.dumps([jobs.until_there_is.enqueue({str(go)!r}).id for _ in range(6)]))")
    with shop.running("willow_worker", "--concurrency", "2", "--prefetch", "4") as worker:
        assert wait_until(lambda: len(list(tmp_path.glob("*.begun"))) == 2, 2 * PATIENCE)
        assert wait_until(lambda: not broker.query(READY, queue), PATIENCE)  # all are here, and two of them run
        worker.terminate()
        assert wait_until(lambda: broker.query(READY, queue) == [(0,)] * 4, PATIENCE)
        go.touch()
        assert worker.wait(PATIENCE) == 0
    assert broker.query(NOT_SUCCESSFUL, ids) == [("READY", [])] * 4
    assert len(list(tmp_path.glob("*.begun"))) == 2
    with shop.running("willow_worker", "--concurrency", "2", "--prefetch", "0"):
        assert wait_until(lambda: not broker.query(NOT_SUCCESSFUL, ids), PATIENCE)


def test_a_result_that_cannot_be_stored_is_no_harm_to_others(shop: Project) -> None:
    stored = shop.python(
        RUN
        + """
from willow_django.records import find_records, save_each
records = find_records([jobs.add.enqueue(1, 1).id for _ in range(3)])
for record, value in zip(records, ["first", "\\0", "third"]):
    record.return_value = value
errors = save_each(records)
values = [record.return_value for record in find_records([record.id for record in records])]
print(json.dumps([[type(error).__name__ for error in errors], values]))
"""
    )
    assert stored == [["NoneType", "DataError", "NoneType"], ["first", None, "third"]]


def test_the_trace_goes_along(shop: Project) -> None:
    with shop.running("willow_worker", "--concurrency", "1"):
        ours, theirs = shop.python(
            RUN
            + """
from opentelemetry.sdk.trace import TracerProvider
with TracerProvider().get_tracer("test").start_as_current_span("view") as span:
    result = jobs.traced.enqueue()
print(json.dumps([f"{span.get_span_context().trace_id:032x}", ended(result).return_value]))
"""
        )
    assert theirs.split("-")[1] == ours


def test_a_worker_says_that_it_is_well(shop: Project, tmp_path: Path) -> None:
    port = free_port()
    file = tmp_path / "healthy"
    with shop.running("willow_worker", "--health-port", str(port), "--health-file", str(file)):

        def answer() -> int | None:
            try:
                return int(urlopen(f"http://127.0.0.1:{port}/").status)
            except OSError:
                return None

        assert wait_until(lambda: answer() == 200 and file.exists(), 2 * PATIENCE)


def test_a_health_file_that_cannot_be_touched_is_named(shop: Project, tmp_path: Path, said: Path) -> None:
    folder = tmp_path / "folder"
    with shop.running("willow_worker", "--health-file", str(folder / "healthy"), said=said):
        assert wait_until(lambda: said.exists() and "health file could not be touched" in said.read_text(), PATIENCE)
        folder.mkdir()
        assert wait_until((folder / "healthy").exists, PATIENCE)


def test_a_worker_starts_again_when_code_changes(shop: Project, tmp_path: Path) -> None:
    code = "from willow_django.tasks import task\n\n\n@task\ndef answer():\n    return {}\n"
    module = tmp_path / "changing_jobs.py"
    module.write_text(code.format(4))
    shop.environ["PYTHONPATH"] += f":{tmp_path}"
    ask = RUN + "from changing_jobs import answer\nprint(json.dumps(ended(answer.enqueue()).return_value))"
    with shop.running("willow_worker", "--reload"):
        assert shop.python(ask) == 4
        module.write_text(code.format("40 + 2"))

        def has_changed() -> bool:
            module.touch()  # the reloader looks now and then, and must have seen the file once before
            return bool(shop.python(ask) == 42)

        assert wait_until(has_changed, 2 * PATIENCE)


def test_a_worker_whose_key_is_revoked_ends_and_says_so(broker: Cluster, shop: Project) -> None:
    key = make_key(broker, {"*": {"fetch", "create"}})
    shop.environ["SHOP_WILLOW"] = json.dumps(json.loads(shop.environ["SHOP_WILLOW"]) | {"TOKEN": key.secret})
    worker = shop.begin("willow_worker")
    assert wait_until(lambda: bool(broker.query(READS, f"{shop.prefix}default")), PATIENCE)
    key.expire()
    _, said = worker.communicate(timeout=2 * PATIENCE)
    assert worker.returncode == 1
    assert "Traceback" not in said and "CommandError" in said, said


def test_a_worker_needs_no_right_but_to_fetch(broker: Cluster, shop: Project) -> None:
    key = make_key(broker, {f"{shop.prefix}*": {"fetch"}})
    [id] = shop.python(RUN + "print(json.dumps([jobs.third_time_lucky.enqueue().id]))")
    shop.environ["SHOP_WILLOW"] = json.dumps(json.loads(shop.environ["SHOP_WILLOW"]) | {"TOKEN": key.secret})
    with shop.running("willow_worker"):
        told = shop.python(RUN + f"print(json.dumps(told(found({id!r}))))")
    assert told["value"] == 3


def test_a_worker_refuses_queues_that_its_backend_does_not_have(shop_elsewhere: Project) -> None:
    with pytest.raises(AssertionError, match="must name queues of TASKS"):
        shop_elsewhere.manage("willow_worker", "--queues", "other")
