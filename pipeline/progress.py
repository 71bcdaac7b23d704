"""Telling how far a run is: a bar on a terminal, plain lines elsewhere."""

import sys
from typing import TextIO

BAR_CHARACTERS = 30


class Progress:
    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stdout
        self._on_terminal = self._stream.isatty()
        self._bar_is_open = False

    def say(self, sentence: str) -> None:
        self._close_bar()
        print(sentence, file=self._stream, flush=True)

    def step(self, what: str, done: int, of: int) -> None:
        """`done` of `of` pieces are done, whatever the pieces are."""
        share = min(done / of, 1.0) if of else 1.0
        if not self._on_terminal:
            print(f"{what}: {share:.0%}", file=self._stream, flush=True)
            return
        filled = round(share * BAR_CHARACTERS)
        bar = "#" * filled + "." * (BAR_CHARACTERS - filled)
        print(f"\r\033[K[{bar}] {share:4.0%}  {what}", end="", file=self._stream, flush=True)
        self._bar_is_open = True
        if share >= 1.0:
            self._close_bar()

    def _close_bar(self) -> None:
        if self._bar_is_open:
            print(file=self._stream, flush=True)
            self._bar_is_open = False


class Silent(Progress):
    """For whoever wants the result only."""

    def say(self, sentence: str) -> None:
        pass

    def step(self, what: str, done: int, of: int) -> None:
        pass
