"""Naming a queue in a form: its name and its tags."""

from typing import Any

from django import forms
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from console.message_forms import TagsField
from queues.models import Queue

MOST_OFFERED = 500  # names of queues


class QueueNameInput(forms.TextInput):
    """A text field that offers the names of queues while somebody types."""

    def render(self, name: str, value: Any, attrs: dict[str, Any] | None = None, renderer: Any = None) -> SafeString:
        offered = f"{name}-names"
        field = super().render(name, value, {**(attrs or {}), "autocomplete": "off", "list": offered}, renderer)
        names = Queue.objects.order_by("name").values_list("name", flat=True).distinct()[:MOST_OFFERED]
        options = format_html_join("", '<option value="{}"></option>', ((one,) for one in names))
        return format_html('{}<datalist id="{}">{}</datalist>', field, offered, options)


class TargetQueueForm(forms.Form):
    """The queue is in `cleaned_data["target"]`."""

    queue = forms.CharField(label="To the queue", max_length=200, widget=QueueNameInput())
    tags = TagsField(label="with the tags", help_text="Separated by commas; empty: the queue without tags.")

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if not self.errors and cleaned.get("queue"):
            name, tags = cleaned["queue"], list(cleaned["tags"])
            cleaned["target"] = Queue.objects.filter(name=name, tags=tags).first()
            if cleaned["target"] is None:
                with_tags = f"with the tags {', '.join(tags)}" if tags else "without tags"
                self.add_error("queue", f"There is no queue {name} {with_tags}.")
        return cleaned
