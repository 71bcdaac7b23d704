"""The forms about messages. Errors are shown beside their fields."""

from datetime import timedelta
from typing import Any

from django import forms
from django.utils import timezone

from clients.moments import SPANS, read_span
from delivery.inspection.filters import OLDEST_INDEX, MessageFilter, queue_ids_like
from delivery.moves.states import State
from queues.definitions import tag_set
from queues.integer_ranges import BIGINT_MAX
from queues.models import Kind


class OptionalSpanField(forms.CharField):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(required=False, widget=forms.TextInput(attrs={"placeholder": SPANS}), **kwargs)

    def clean(self, value: Any) -> timedelta | None:
        text = super().clean(value)
        return read_span(text) if text else None


class TagsField(forms.CharField):
    """Separated by commas."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(required=False, widget=forms.TextInput(attrs={"placeholder": "eu, express"}), **kwargs)

    def clean(self, value: Any) -> tuple[str, ...]:
        return tag_set(tag.strip() for tag in super().clean(value).split(",") if tag.strip())


def number_field(label: str) -> forms.IntegerField:
    return forms.IntegerField(label=label, required=False, min_value=0, max_value=BIGINT_MAX)


class MessageSearchForm(forms.Form):
    queue_id = forms.IntegerField(required=False, min_value=1, max_value=BIGINT_MAX, widget=forms.HiddenInput)
    queue = forms.CharField(
        required=False, max_length=200, widget=forms.TextInput(attrs={"placeholder": "orders or orders*"})
    )
    tags = TagsField()
    state = forms.TypedChoiceField(
        required=False,
        coerce=lambda value: State(int(value)),
        empty_value=None,
        choices=[("", "any"), *State.choices],
    )
    id = number_field("ID")
    index = number_field("Index")
    older = OptionalSpanField(label="Older than")
    younger = OptionalSpanField(label="Younger than")
    header = forms.CharField(label="Has a header named", required=False, max_length=128)
    text = forms.CharField(label="Text in the body", required=False, max_length=200, strip=False)
    sort = forms.ChoiceField(required=False, choices=[("", "from the front"), ("last", "from the back")], label="Order")

    @property
    def is_narrowed(self) -> bool:
        """Whether any field narrows the search. The order does not."""
        return any(self.data.get(name) for name in self.fields if name != "sort")

    @property
    def is_backwards(self) -> bool:
        return self.cleaned_data["sort"] == "last"

    def filter(self) -> MessageFilter:
        """Of a form that is valid. Ages are counted from now on."""
        given, now = self.cleaned_data, timezone.now()
        index = given["index"]
        # No index is kept for retained messages: it would hold every message of a stream.
        kind = Kind.STREAM if given["state"] == State.RETAINED else None
        return MessageFilter(
            queue_ids=queue_ids_like(queue_id=given["queue_id"], name=given["queue"], tags=given["tags"], kind=kind),
            states=frozenset() if given["state"] is None else frozenset({given["state"]}),
            sequence=given["id"],
            index_from=OLDEST_INDEX if index is None else index,
            index_to=BIGINT_MAX if index is None else index,
            posted_before=now - given["older"] if given["older"] else None,
            posted_after=now - given["younger"] if given["younger"] else None,
            text=given["text"] or None,
            header=given["header"] or None,
        )
