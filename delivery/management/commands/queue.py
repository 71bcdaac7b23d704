"""`manage.py queue`: queues with their settings, and why they don't move. docs/operating.md tells how to use it."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import models

from delivery.inspection.diagnosis import why_queue
from delivery.management.sentences import sentences_of
from delivery.operating.audit import at_shell
from delivery.operating.queues import queue_change, queue_create, queue_pause, queue_resume
from queues.definitions import CHANGEABLE_SETTINGS, SETTING_NAMES, tag_set
from queues.models import Queue

SWITCHED = {"on": True, "off": False}
EMPTY = "none"  # how a setting is emptied: no bound


class Command(BaseCommand):
    help = "Shows, creates, changes, pauses and resumes queues, and tells why their messages aren't moving."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(metavar="ACTION", required=True)
        for name, act, settings, about in (
            ("show", self._show, (), "print a queue as JSON"),
            ("create", self._create, SETTING_NAMES, "create a queue; settings that are left out get their defaults"),
            ("change", self._change, CHANGEABLE_SETTINGS, "change some settings; all nodes follow within a second"),
            ("pause", self._pause, (), "hand out nothing; posts are still accepted"),
            ("resume", self._resume, (), "hand out messages again"),
            ("why", self._why, (), "tell why its messages aren't moving"),
        ):
            action = actions.add_parser(name, help=about)
            action.add_argument("name")
            action.add_argument("--tag", action="append", dest="tags", default=[], help="may be repeated")
            for setting in settings:
                action.add_argument(f"--{setting.replace('_', '-')}", metavar="VALUE", help=_help(setting))
            action.set_defaults(act=act)

    def handle(self, *args: Any, act: Callable[..., None], **options: Any) -> None:
        try:
            act(**options)
        except ValidationError as refusal:
            raise CommandError(sentences_of(refusal)) from None

    def _show(self, *, name: str, tags: list[str], **common: Any) -> None:
        queue = _named(name, tags)
        shown = {"name": queue.name, "tags": queue.tags, "shard": queue.pk, "paused": queue.paused}
        shown |= {setting: getattr(queue, setting) for setting in SETTING_NAMES}
        self.stdout.write(json.dumps(shown, indent=2, ensure_ascii=False))

    def _create(self, *, name: str, tags: list[str], **options: Any) -> None:
        queue = queue_create(name=name, tags=tags, chosen=_given(options), by=at_shell())
        self.stdout.write(f"The queue {queue} is created: shard {queue.pk}.")

    def _change(self, *, name: str, tags: list[str], **options: Any) -> None:
        queue, changes = _named(name, tags), _given(options)
        if not changes:
            raise CommandError("Say what to change, such as --max-in-flight 10.")
        queue_change(queue=queue, changes=changes, by=at_shell())
        self.stdout.write(f"Changed of the queue {queue}: {', '.join(changes)}.")

    def _pause(self, *, name: str, tags: list[str], **common: Any) -> None:
        queue_pause(queue=_named(name, tags), by=at_shell())
        self.stdout.write(f"The queue {name} is paused.")

    def _resume(self, *, name: str, tags: list[str], **common: Any) -> None:
        queue_resume(queue=_named(name, tags), by=at_shell())
        self.stdout.write(f"The queue {name} hands out messages again.")

    def _why(self, *, name: str, tags: list[str], **common: Any) -> None:
        for cause in why_queue(_named(name, tags)):
            self.stdout.write(cause.sentence)


def _help(setting: str) -> str:
    field = Queue._meta.get_field(setting)
    emptied = f" ({EMPTY}: empty)" if field.null else " (on or off)" if isinstance(field, models.BooleanField) else ""
    return f"{getattr(field, 'help_text', '')}{emptied}".replace("%", "%%")


def _named(name: str, tags: list[str]) -> Queue:
    queue = Queue.objects.filter(name=name, tags=list(tag_set(tags))).first()
    if queue is None:
        with_tags = f" with the tags {', '.join(tags)}" if tags else " without tags"
        raise ValidationError(f"There is no queue {name}{with_tags}.")
    return queue


def _given(options: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that were given. What is read here and makes no sense is refused with the change."""
    return {setting: _read(setting, options[setting]) for setting in SETTING_NAMES if options.get(setting) is not None}


def _read(setting: str, text: str) -> Any:
    field = Queue._meta.get_field(setting)
    if isinstance(field, models.BooleanField):
        return SWITCHED.get(text, text)
    try:
        return None if text == EMPTY else field.to_python(text)  # type: ignore[union-attr]
    except ValidationError as refusal:
        raise ValidationError({setting: refusal.messages}) from None
