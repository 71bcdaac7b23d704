"""The admin's forms about keys. They take grants and times as `manage.py key` does."""

from datetime import datetime, timedelta
from typing import Any

from django import forms

from clients import address_ranges, quotas
from clients.grants import EXAMPLE, Grants, check_grants, read_grants, written_grants
from clients.models import Key
from clients.moments import SPANS, read_moment, read_span
from clients.quotas import QUOTA_NAMES
from clients.selectors import grants_of


class GrantsField(forms.CharField):
    """One grant on each line."""

    widget = forms.Textarea(attrs={"rows": 4})

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(required=False, help_text=f"One per line, such as {EXAMPLE}.", **kwargs)

    def to_python(self, value: Any) -> str:
        return "\n".join(line.strip() for line in (super().to_python(value) or "").splitlines() if line.strip())

    def clean(self, value: Any) -> Grants:
        grants = read_grants(super().clean(value).splitlines())
        check_grants(grants)
        return grants


class QuotasField(forms.CharField):
    """One quota on each line; what is left out has its default."""

    widget = forms.Textarea(attrs={"rows": 3})

    def __init__(self, **kwargs: Any) -> None:
        names = ", ".join(QUOTA_NAMES)
        about = f"One per line, such as {quotas.EXAMPLE}; 0 means no limit. They are {names}; if left out: the default."
        super().__init__(required=False, help_text=about, **kwargs)

    def clean(self, value: Any) -> dict[str, int]:
        return quotas.read_quotas(_lines(super().clean(value)))


class AddressesField(forms.CharField):
    """One network on each line."""

    widget = forms.Textarea(attrs={"rows": 2})

    def __init__(self, **kwargs: Any) -> None:
        about = f"Where the key is good: one network per line, such as {address_ranges.EXAMPLE}; if empty: everywhere."
        super().__init__(required=False, help_text=about, **kwargs)

    def clean(self, value: Any) -> list[str]:
        return address_ranges.read_ranges(_lines(super().clean(value)))


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


class MomentField(forms.CharField):
    def __init__(self, *, empty: str, **kwargs: Any) -> None:
        """`empty`: what it means to leave it empty."""
        super().__init__(required=False, help_text=f"{SPANS} from now, or a date; if empty: {empty}.", **kwargs)

    def prepare_value(self, value: Any) -> Any:
        return value.isoformat() if isinstance(value, datetime) else value

    def has_changed(self, initial: Any, data: Any) -> bool:
        return super().has_changed(self.prepare_value(initial), data)

    def clean(self, value: Any) -> datetime | None:
        text = super().clean(value)
        return read_moment(text) if text else None


class SpanField(forms.CharField):
    def clean(self, value: Any) -> timedelta:
        return read_span(super().clean(value))


class KeyCreationForm(forms.Form):
    client_name = forms.CharField(label="Client", help_text="Created if there is no such client.")
    persistent = forms.BooleanField(required=False, help_text="A new client is kept for ever.")
    grants = GrantsField()
    expires_at = MomentField(label="Expires", empty="never")
    quotas = QuotasField()
    addresses = AddressesField()


class KeyRotationForm(forms.Form):
    grace = SpanField(initial="0s", label="The old key stays valid for", help_text=f"{SPANS}; 0s ends it now.")
    expires_at = MomentField(label="The new key expires", empty="when the old one would have")


class KeyChangeForm(forms.ModelForm):
    grants = GrantsField()
    expires_at = MomentField(label="Expires", empty="never")
    quotas = QuotasField()
    addresses = AddressesField()

    class Meta:
        model = Key
        fields = ("expires_at",)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial["grants"] = "\n".join(written_grants(grants_of(self.instance)))
        self.initial["quotas"] = "\n".join(quotas.written_quotas(self.instance.quotas))
        self.initial["addresses"] = "\n".join(self.instance.addresses)
