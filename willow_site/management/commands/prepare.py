"""`manage.py prepare`: what has to be done before a node serves. `./willow up` runs it at each start."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError, ProgrammingError, connection

from willow_site.database_url import cannot_be_reached
from willow_site.migrating import migrate
from willow_site.secret_files import write_closed

ADMIN_NAME = "admin"
PASSWORD_FILE = "first-password"  # in the home: whoever missed the line on the screen finds it there
GENERATED_PASSWORD_BYTES = 12
PREPARE_LOCK = 7_305_102_941  # any number that no other advisory lock of Willow uses


class Command(BaseCommand):
    help = "Brings the database up to date, collects static files and creates the console's first user."

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            connection.ensure_connection()
        except (OperationalError, ProgrammingError) as error:
            raise CommandError(cannot_be_reached(str(error), settings.WILLOW.database_url)) from None
        with one_node_at_a_time():
            migrate(self.stdout.write)
            self._make_first_user()
        call_command("collectstatic", interactive=False, verbosity=0)

    def _make_first_user(self) -> None:
        users = get_user_model().objects
        if users.exists():
            return
        given = settings.WILLOW.admin_password
        password = given or secrets.token_urlsafe(GENERATED_PASSWORD_BYTES)
        if not given:
            write_closed(settings.WILLOW.home / PASSWORD_FILE, password + "\n")
        users.create_superuser(ADMIN_NAME, password=password)
        shown = "from WILLOW_ADMIN_PASSWORD" if given else f"{password} (shown only this once)"
        self.stdout.write(f"The console's first user is {ADMIN_NAME}, password {shown}.")
        if not given:
            file = settings.WILLOW.home / PASSWORD_FILE
            self.stdout.write(f"The password is also in {file}, which only you can read. Delete that file.")


@contextmanager
def one_node_at_a_time() -> Iterator[None]:
    """Several nodes may start at once on one database."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [PREPARE_LOCK])
        try:
            yield
        finally:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [PREPARE_LOCK])
