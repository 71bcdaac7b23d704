"""How people fill in queues: in the console and in Django's admin."""

from typing import Any

from django import forms

from queues.definitions import CHANGEABLE_SETTINGS, SETTING_NAMES, tag_set
from queues.models import Queue
from queues.setting_rules import check_settings


class QueueSettingsForm(forms.ModelForm):
    class Meta:
        model = Queue
        fields = CHANGEABLE_SETTINGS

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        try:
            given = {name: value for name, value in cleaned.items() if name in SETTING_NAMES}
            check_settings(given, kind=self.instance.kind)
        except forms.ValidationError as refusal:
            self.add_error(None, refusal)
        return cleaned


class QueueCreationForm(QueueSettingsForm):
    tags = forms.CharField(
        widget=forms.TextInput(attrs={"placeholder": "eu, express"}), required=False, help_text="Separated by commas."
    )

    class Meta:
        model = Queue
        fields = ("name", "tags", *SETTING_NAMES)

    def clean_tags(self) -> list[str]:
        each = self.cleaned_data["tags"].split(",")
        return list(tag_set(tag.strip() for tag in each if tag.strip()))
