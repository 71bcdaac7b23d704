"""One function for each verdict: it takes the evidence and yields what it finds."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """`explained`: why it is allowed. What is not explained is against what the broker promises."""

    about: str  # one sentence
    explained: str = ""
