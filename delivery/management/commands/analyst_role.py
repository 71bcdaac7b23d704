"""`manage.py analyst_role`: a role that reads the views and the facts, and can do no harm to the broker."""

import secrets
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection
from django.db.utils import ProgrammingError

from delivery.facts.analyst_role import (
    ROLE,
    RolesForbiddenError,
    analyst_role_define,
    analyst_role_grant,
    statements_for_an_administrator,
)
from delivery.operating.audit import at_shell

PASSWORD_BYTES = 18


class Command(BaseCommand):
    help = "Makes the read-only role for analysts and for Spark, or lets an existing role read."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("action", choices=["create", "grant"], help="create: make it; grant: let it read")
        parser.add_argument("--role", default=ROLE, help=f"its name ({ROLE})")

    def handle(self, *args: Any, **options: Any) -> None:
        role = options["role"]
        if options["action"] == "grant":
            self._grant(role)
            return
        password = secrets.token_urlsafe(PASSWORD_BYTES)
        try:
            analyst_role_define(password=password, role=role, by=at_shell())
        except RolesForbiddenError as error:
            raise CommandError(
                f"This database does not let Willow make roles ({error}). Somebody who may can run:\n"
                f"{statements_for_an_administrator(role)}"
            ) from None
        where = connection.settings_dict
        self.stdout.write(f"The role {role} reads the views and the facts. Its password is shown only this once:")
        host, port, name = where.get("HOST") or "localhost", where.get("PORT") or 5432, where["NAME"]
        self.stdout.write(f"postgresql://{role}:{password}@{host}:{port}/{name}")

    def _grant(self, role: str) -> None:
        try:
            analyst_role_grant(role=role, by=at_shell())
        except ProgrammingError as error:
            raise CommandError(f"The role {role} was not let in: {str(error).strip().splitlines()[0]}") from None
        self.stdout.write(f"The role {role} reads the views and the facts.")
