"""Celery's application."""

from celery import Celery

from benchmarks.peers.workers.waits import ADDRESS, note

app = Celery("bench", broker=ADDRESS)
app.conf.update(
    task_acks_late=True,  # a task that was not done is not lost
    task_ignore_result=True,
    worker_hijack_root_logger=False,
    broker_connection_retry_on_startup=True,
)


@app.task(name="work")
def work(body: str) -> None:
    note(body)
