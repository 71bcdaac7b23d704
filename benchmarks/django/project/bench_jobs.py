"""The task that is measured does nothing: what remains is what the worker costs."""

from willow_django.tasks import task


@task
def work(body: str) -> None:
    pass
