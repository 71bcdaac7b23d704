"""`manage.py post_role`: which roles of PostgreSQL may post in their own transactions, by `willow_post`."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from delivery.operating.audit import at_shell
from delivery.operating.post_roles import BadPostRoleError, post_role_grant, post_role_revoke, post_roles


class Command(BaseCommand):
    help = "Lets roles of PostgreSQL post by willow_post, to queues whose names match patterns."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        grant = actions.add_parser("grant", help="let a role post to queues, beside those that it may post to already")
        grant.add_argument("role")
        grant.add_argument(
            "--queues", required=True, action="append", help="a pattern of names, * for any characters; may be repeated"
        )
        revoke = actions.add_parser("revoke", help="let a role post nothing any more")
        revoke.add_argument("role")
        actions.add_parser("list", help="show who may post where")

    def handle(self, *args: Any, **options: Any) -> None:
        match options["action"]:
            case "grant":
                self._grant(options["role"], options["queues"])
            case "revoke":
                post_role_revoke(role=options["role"], by=at_shell())
                self.stdout.write(f"The role {options['role']} may post nothing by willow_post.")
            case _:
                for role, patterns in post_roles().items():
                    self.stdout.write(f"{role}: {', '.join(patterns)}")

    def _grant(self, role: str, patterns: list[str]) -> None:
        try:
            post_role_grant(role=role, patterns=patterns, by=at_shell())
        except BadPostRoleError as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"The role {role} may post to {', '.join(post_roles()[role])}.")
