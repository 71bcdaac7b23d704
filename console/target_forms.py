"""Naming a queue in a form: its name and its tags."""

from typing import Any

from django import forms

from console.message_forms import TagsField
from queues.models import Queue


class TargetQueueForm(forms.Form):
    """The queue is in `cleaned_data["target"]`."""

    queue = forms.CharField(label="To the queue", max_length=200, widget=forms.TextInput(attrs={"autocomplete": "off"}))
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
