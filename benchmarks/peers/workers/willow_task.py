"""Willow's task: an ordinary function, as most of a Django project's are; it runs in a thread."""

from willow_django.tasks import task

from benchmarks.peers.workers.waits import note


@task
def work(body: str) -> None:
    note(body)
