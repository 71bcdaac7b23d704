"""The project's programs: `migrate`, `willow_worker` and Django's other commands, and `enqueue`.

For each line of its input, `enqueue` enqueues so many tasks in one transaction, and answers with a line.
"""

import os
import sys

os.environ["DJANGO_SETTINGS_MODULE"] = "bench_settings"  # whatever the process that starts this one uses itself


def enqueue() -> None:
    import django
    from django.db import transaction

    django.setup()
    from bench_jobs import work

    for line in sys.stdin:
        with transaction.atomic():
            for _ in range(int(line)):
                work.enqueue("x" * 100)
        print("enqueued", flush=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["enqueue"]:
        enqueue()
    else:
        from django.core.management import execute_from_command_line

        execute_from_command_line(sys.argv)
