"""How commands say what was wrong."""

from django.core.exceptions import ValidationError


def sentences_of(refusal: ValidationError) -> str:
    """Each with its field, if it has one."""
    if not hasattr(refusal, "error_dict"):
        return " ".join(refusal.messages)
    return " ".join(f"{field}: {' '.join(said)}" for field, said in refusal.message_dict.items())
