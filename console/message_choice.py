"""Which messages an operator means, as it stands in an address or a form: those that were ticked (`message`), or all
that a search finds (`matching`, the search as it stands in the address of its page)."""

from dataclasses import dataclass

from django.contrib.auth.models import AnonymousUser, User
from django.core.exceptions import ValidationError
from django.http import QueryDict

from console.message_forms import MessageSearchForm
from delivery.inspection.filters import MessageFilter
from delivery.inspection.search import find_ids
from delivery.moves.message_id import MessageId
from delivery.operating.messages import Choice
from delivery.operating.permissions import May, allowed

MOST_COUNTED = 10_000


@dataclass(frozen=True, slots=True)
class MessageChoice:
    chosen: Choice
    pairs: list[tuple[str, str]]  # as forms say it
    words: str
    warns: tuple[str, ...] = ()


def read_choice(given: QueryDict, user: User | AnonymousUser) -> MessageChoice:
    """A ValidationError says what is wrong with it."""
    if search := given.get("matching"):
        return _matching(search, user)
    ids = [MessageId.read(text) for text in given.getlist("message")]
    if not ids:
        raise ValidationError("Choose at least one message first.")
    words = "1 message" if len(ids) == 1 else f"{len(ids)} messages"
    return MessageChoice(ids, [("message", str(one)) for one in ids], words)


def _matching(search: str, user: User | AnonymousUser) -> MessageChoice:
    form = MessageSearchForm(QueryDict(search))
    if not form.is_valid():
        name, errors = next(iter(form.errors.items()))
        raise ValidationError(f"The search is wrong: {name}: {errors[0]}")
    if not form.is_narrowed:
        raise ValidationError("Search for something first: this would be all messages of all queues.")
    chosen = form.filter()
    if chosen.text and not allowed(user, May.SEE_BODIES):
        raise ValidationError("Your account may not see bodies, so it cannot search in them.")
    words = f"all that match, {_counted(chosen)}"
    return MessageChoice(
        chosen, [("matching", search)], words, ("The action covers what matches when you confirm it.",)
    )


def _counted(chosen: MessageFilter) -> str:
    page = find_ids(chosen, limit=MOST_COUNTED)
    count = f"{len(page.rows):,} message{'' if len(page.rows) == 1 else 's'}"
    return count if page.next is None else f"{count} or more"
