"""`manage.py second_factor`: takes the second factor of somebody away who has lost their app."""

from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction
from django_otp.plugins.otp_totp.models import TOTPDevice

from delivery.operating.audit import at_shell, audit


class Command(BaseCommand):
    help = "Takes away the second factor of a user, who can then log in with the password and set up another one."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("user", help="the name of the account")

    def handle(self, *args: Any, user: str, **options: Any) -> None:
        account = User.objects.filter(username=user).first()
        if account is None:
            raise CommandError(f"There is no user {user!r}.")
        with transaction.atomic():
            removed, _ = TOTPDevice.objects.filter(user=account).delete()
            if not removed:
                raise CommandError(f"{user} has no second factor.")
            audit(by=at_shell(), action="remove second factor", target=user)
        self.stdout.write(f"{user} logs in with the password alone now.")
