"""How people fill in schedules. What is wrong is shown beside its field; the rules are those of delivery/schedules/."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from console.message_forms import TagsField
from delivery.operating.schedules import values_of
from delivery.schedules.cron import NICKNAMES
from delivery.schedules.models import Missed, Schedule
from delivery.schedules.rules import FIELDS

CRON_HELP = f"Minute, hour, day of the month, month, day of the week; or {', '.join(NICKNAMES)}."
EMPTY_IS_NONE = ("cron", "unique")
SHOWN_INEXACTLY = ("queue", "tags", "message", "headers", "starts_at", "ends_at", "unique")


class ScheduleForm(forms.Form):
    """`values` are the fields of a schedule. A body that is not UTF-8 can only be changed over REST."""

    name = forms.CharField(max_length=200, help_text="Cannot be changed later.")
    queue = forms.CharField(max_length=200)
    tags = TagsField(help_text="Separated by commas.")
    message = forms.CharField(widget=forms.Textarea(attrs={"rows": 4}), strip=False, required=False)
    headers = forms.CharField(
        widget=forms.Textarea(attrs={"rows": 3}), required=False, help_text="One on each line, as name: value."
    )
    cron = forms.CharField(required=False, max_length=200, help_text=CRON_HELP)
    time_zone = forms.CharField(initial="UTC", max_length=100, help_text="Of the IANA database: Europe/Vienna.")
    every = forms.FloatField(required=False, help_text="Seconds, 1 or more; instead of cron.")
    starts_at = forms.DateTimeField(required=False, help_text="UTC. Empty: at once.")
    ends_at = forms.DateTimeField(required=False, help_text="UTC. Empty: never.")
    missed = forms.ChoiceField(choices=Missed, initial=Missed.SKIP)
    priority = forms.IntegerField(initial=0, min_value=0)
    ttl = forms.FloatField(
        label="Time to live", required=False, help_text="Seconds after which it goes to the dead letters."
    )
    unique = forms.CharField(
        required=False, max_length=200, help_text="While a message with this text lives, no other is posted."
    )
    enabled = forms.BooleanField(required=False, initial=True)

    def __init__(self, *args: Any, schedule: Schedule | None = None, **kwargs: Any) -> None:
        self._body = None if schedule is None else bytes(schedule.message)
        self._before = None if schedule is None else values_of(schedule)
        if schedule is not None:
            kwargs["initial"] = initial_of(schedule)
        super().__init__(*args, **kwargs)
        if schedule is not None:
            self.fields["name"].disabled = True
            if _text(self._body or b"") is None:
                del self.fields["message"]

    def _is_untouched(self, field: str) -> bool:
        """Whether it still says what it showed. Then its schedule keeps what it has, of which a form shows less:
        not how lines end, nor spaces around texts, commas in tags and fractions of seconds."""
        if self._before is None or field not in self.fields:
            return False
        widget, showing = self.fields[field].widget, self.fields[field].prepare_value(self.initial[field])
        return _lines(self[field].value()) == _lines(widget.format_value(showing))

    def clean_message(self) -> str:
        """Browsers end lines in their own way."""
        return str(self.cleaned_data["message"]).replace("\r\n", "\n")

    def clean_headers(self) -> dict[str, str]:
        if self._before is not None and self._is_untouched("headers"):
            return dict(self._before["headers"])
        headers: dict[str, str] = {}
        for line in self.cleaned_data["headers"].splitlines():
            name, colon, value = line.partition(":")
            if not colon:
                raise ValidationError(f"This must be one header on each line, as name: value, not {line!r}.")
            headers[name.strip()] = value.strip()
        return headers

    @property
    def values(self) -> dict[str, Any]:
        cleaned = {field: self.cleaned_data[field] for field in FIELDS if field in self.cleaned_data}
        cleaned |= {field: cleaned[field] or None for field in EMPTY_IS_NONE}
        cleaned["message"] = cleaned["message"].encode() if "message" in cleaned else self._body
        before = self._before or {}
        kept = {field: before[field] for field in SHOWN_INEXACTLY if self._is_untouched(field)}
        return {**cleaned, "tags": list(cleaned["tags"]), **kept}

    def refuse(self, refusal: ValidationError) -> None:
        """Beside the fields, where they are on the form."""
        if not hasattr(refusal, "error_dict"):
            self.add_error(None, refusal)
            return
        for field, sentences in refusal.message_dict.items():
            for sentence in sentences:
                self.add_error(field if field in self.fields else None, sentence)


def initial_of(schedule: Schedule) -> dict[str, Any]:
    columns = {"unique": "unique_key"}
    values = {field: getattr(schedule, columns.get(field, field)) for field in FIELDS}
    return {
        **values,
        "tags": ", ".join(schedule.tags),
        "message": _text(bytes(schedule.message)),
        "headers": "\n".join(f"{name}: {value}" for name, value in schedule.headers.items()),
    }


def _lines(text: Any) -> str:
    return str(text or "").replace("\r\n", "\n")


def _text(body: bytes) -> str | None:
    try:
        return body.decode()
    except UnicodeDecodeError:
        return None
