"""`manage.py key`: the keys with which clients connect. docs/keys.md tells how to use it."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser

from clients.grants import read_grants, written_grants
from clients.models import Key
from clients.moments import read_moment, read_span
from clients.quotas import EXAMPLE, QUOTA_NAMES, effective_quotas, read_quotas, written_quotas
from clients.selectors import client_named, grants_of, key_state, key_with_prefix, keys_with_grants
from delivery.operating.audit import at_shell
from delivery.operating.clients import (
    NewKey,
    key_create,
    key_expire,
    key_revoke,
    key_rotate,
    key_set_addresses,
    key_set_quotas,
)

WHEN = "a span such as 90d, or a date such as 2030-01-31"
KEY = "its first characters, as listed"
COLUMNS = ("KEY", "CLIENT", "STATE", "EXPIRES", "LAST USED", "QUOTAS", "FROM", "GRANTS")
QUOTA = f"one of {', '.join(QUOTA_NAMES)}, such as {EXAMPLE}; 0 means no limit"
RANGE = "a network from which the key is good, such as 10.0.0.0/8"
NEVER = "never"


class Command(BaseCommand):
    help = "Creates, lists, rotates, expires and revokes the keys that clients connect with."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(metavar="ACTION", required=True)

        create = actions.add_parser("create", help="create a key; it is printed once and not stored")
        create.add_argument(
            "--client", required=True, metavar="NAME", help="whose key it is; created if there is no such client"
        )
        create.add_argument("--persistent", action="store_true", help="a new client is kept for ever")
        create.add_argument(
            "--grant", action="append", default=[], metavar="PATTERN:PERMISSION,…", help="such as 'orders*:post,fetch'"
        )
        create.add_argument("--expires", metavar="WHEN", help=WHEN)
        create.add_argument("--quota", action="append", default=[], metavar="NAME=NUMBER", help=QUOTA)
        create.add_argument("--from", action="append", default=[], dest="addresses", metavar="NETWORK", help=RANGE)
        create.set_defaults(act=self._create)

        quota = actions.add_parser(
            "quota", help="show the quotas of a key, or set them; then those that are not named get their default"
        )
        quota.add_argument("key", help=KEY)
        quota.add_argument("quotas", nargs="*", metavar="NAME=NUMBER", help=QUOTA)
        quota.add_argument("--defaults", action="store_true", help="all that are not named get their default")
        quota.set_defaults(act=self._quota)

        addresses = actions.add_parser("addresses", help="show or set the networks from which a key is good")
        addresses.add_argument("key", help=KEY)
        addresses.add_argument("networks", nargs="*", metavar="NETWORK", help=RANGE)
        addresses.add_argument("--everywhere", action="store_true", help="it is good from everywhere")
        addresses.set_defaults(act=self._addresses)

        listing = actions.add_parser("list", help="list keys, including ended ones")
        listing.add_argument("--client", metavar="NAME", help="only the keys of this client")
        listing.set_defaults(act=self._list)

        rotate = actions.add_parser("rotate", help="create a key with the same grants, and end the old one")
        rotate.add_argument("key", help=KEY)
        rotate.add_argument(
            "--grace", metavar="SPAN", default="0s", help="how long the old key stays valid, such as 12h"
        )
        rotate.add_argument("--expires", metavar="WHEN", help=f"when the new key expires: {WHEN}")
        rotate.set_defaults(act=self._rotate)

        expire = actions.add_parser("expire", help="set when a key expires")
        expire.add_argument("key", help=KEY)
        expire.add_argument("when", help=WHEN)
        expire.set_defaults(act=self._expire)

        revoke = actions.add_parser("revoke", help="end a key now, and close its connections")
        revoke.add_argument("key", help=KEY)
        revoke.set_defaults(act=self._revoke)

    def handle(self, *args: Any, act: Callable[..., None], **options: Any) -> None:
        try:
            act(**options)
        except ValidationError as refusal:
            raise CommandError(" ".join(refusal.messages)) from None

    def _create(self, *, client: str, persistent: bool, grant: list[str], expires: str | None, **others: Any) -> None:
        new = key_create(
            client_name=client,
            persistent=persistent,
            grants=read_grants(grant),
            expires_at=read_moment(expires) if expires else None,
            quotas=read_quotas(others["quota"]),
            addresses=others["addresses"],
            by=at_shell(),
        )
        self._print_once(new)

    def _quota(self, *, key: str, quotas: list[str], defaults: bool, **common: Any) -> None:
        """Without a quota it only shows them: what a slip would reset protects the others."""
        record, wanted = key_with_prefix(key), read_quotas(quotas)
        if quotas or defaults:
            key_set_quotas(key=record, quotas=wanted, by=at_shell())
        own = wanted if quotas or defaults else record.quotas
        for name, value in asdict(effective_quotas(own)).items():
            self.stdout.write(f"{name}={value}{'' if name in own else ' (default)'}")

    def _addresses(self, *, key: str, networks: list[str], everywhere: bool, **common: Any) -> None:
        if networks and everywhere:
            raise CommandError("Give either networks or --everywhere.")
        record = key_with_prefix(key)
        if networks or everywhere:
            key_set_addresses(key=record, addresses=networks, by=at_shell())
        else:
            networks = record.addresses
        self.stdout.write(f"The key {key} is good from {', '.join(networks) or 'everywhere'}.")

    def _list(self, *, client: str | None, **common: Any) -> None:
        keys = keys_with_grants()
        if client is not None:
            keys = keys.filter(client=client_named(client))
        rows = [COLUMNS, *(_row(key) for key in keys)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for row in rows:
            padded = (text.ljust(width) for text, width in zip(row, widths, strict=True))
            self.stdout.write("  ".join(padded).rstrip())

    def _rotate(self, *, key: str, grace: str, expires: str | None, **common: Any) -> None:
        expires_at = read_moment(expires) if expires else None
        old = key_with_prefix(key)
        self._print_once(key_rotate(key=old, grace=read_span(grace), expires_at=expires_at, by=at_shell()))

    def _expire(self, *, key: str, when: str, **common: Any) -> None:
        at = read_moment(when)
        key_expire(key=key_with_prefix(key), at=at, by=at_shell())
        self.stdout.write(f"The key {key} expires on {at:%Y-%m-%d %H:%M:%S %Z}.")

    def _revoke(self, *, key: str, **common: Any) -> None:
        key_revoke(key=key_with_prefix(key), by=at_shell())
        self.stdout.write(f"The key {key} is revoked.")

    def _print_once(self, new: NewKey) -> None:
        """The key alone goes to standard output, so that a script can take it from there."""
        self.stdout.write(new.secret)
        self.stderr.write(f"This is the key of {new.record.client}. It is shown only this once.")


def _row(key: Key) -> tuple[str, ...]:
    return (
        key.prefix,
        key.client.name,
        key_state(key),
        f"{key.expires_at:%Y-%m-%d %H:%M}" if key.expires_at else NEVER,
        f"{key.last_used_at:%Y-%m-%d %H:%M}" if key.last_used_at else NEVER,
        " ".join(written_quotas(key.quotas)) or "defaults",
        " ".join(key.addresses) or "everywhere",
        " ".join(written_grants(grants_of(key))),
    )
