"""What a replay has posted, written down so that it can be broken off anywhere and taken up again.

A file of JSON lines. Before messages are sent their names are written (`sending`), and after the broker has answered,
what became of each (`posted`; `duplicates`, whose unique text another message has; `refused`). What was sent and has no
answer is unsure. It is sent again with the same `dedupe` text, by which the broker knows it for a while; after that
while, only a person can decide.
"""

import fcntl
import hashlib
import io
import json
import os
import uuid
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Self, TextIO

from pipeline.errors import PipelineError

Name = tuple[int, int]  # queue number and index


class Record:
    def __init__(self, file: Path, stream: TextIO) -> None:
        self.file = file
        self.nonce = uuid.uuid4().hex
        self.posted: set[Name] = set()
        self.duplicates: set[Name] = set()
        self.refused: dict[Name, str] = {}
        self._sent_at: dict[Name, datetime] = {}  # of what has no answer yet
        self._stream = stream
        self._load()

    @classmethod
    def look_at(cls, folder: Path, about: Mapping[str, Any]) -> Self:
        """The record of the replay with these parameters, as it is now, only to be read."""
        file = _file(folder, about)
        return cls(file, io.StringIO(file.read_text(encoding="utf-8") if file.exists() else ""))

    @classmethod
    def open(cls, folder: Path, about: Mapping[str, Any]) -> Self:
        """The same, to be gone on with by nobody else; a fresh one if there is none."""
        folder.mkdir(parents=True, exist_ok=True)
        file = _file(folder, about)
        stream = file.open("a+", encoding="utf-8")
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            stream.close()
            raise PipelineError("This replay is already running.", f"Its record is {file}.") from None
        record = cls(file, stream)
        if not stream.tell():
            record._write({"about": dict(about), "nonce": record.nonce})
        return record

    def close(self) -> None:
        self._stream.close()

    def forget(self) -> None:
        """Start again from nothing, with texts that the broker has not seen. The old record stays beside the new."""
        lines = self.file.read_text(encoding="utf-8")
        self.file.with_suffix(f".{self.nonce[:8]}.old").write_text(lines, encoding="utf-8")
        about = json.loads(lines.splitlines()[0])
        self._stream.truncate(0)
        self.nonce = uuid.uuid4().hex
        self.posted, self.duplicates, self.refused, self._sent_at = set(), set(), {}, {}
        self._write({**about, "nonce": self.nonce})

    def dedupe(self, name: Name) -> str:
        return f"replay-{self.nonce}-{name[0]}-{name[1]}"

    def unsure(self, remembered: timedelta, now: datetime) -> set[Name]:
        """What was sent so long ago that the broker may have forgotten it, and has no answer."""
        return {name for name, sent in self._sent_at.items() if sent + remembered < now}

    @property
    def settled(self) -> int:
        """How many messages have their answer."""
        return len(self.posted) + len(self.duplicates) + len(self.refused)

    def is_settled(self, name: Name) -> bool:
        return name in self.posted or name in self.duplicates or name in self.refused

    def was_sent(self, name: Name) -> bool:
        """And has no answer."""
        return name in self._sent_at

    def sending(self, names: Iterable[Name]) -> None:
        now = datetime.now(UTC)
        self._note({"sending": list(names), "at": now.isoformat()})

    def answered(self, posted: Iterable[Name], refused: Mapping[Name, str], duplicates: Iterable[Name] = ()) -> None:
        refusals = [[*name, why] for name, why in refused.items()]
        self._note({"posted": list(posted), "duplicates": list(duplicates), "refused": refusals})

    def let_go(self, names: Iterable[Name]) -> None:
        """Send these as if they had never been sent."""
        self._note({"let_go": list(names)})

    def _note(self, line: dict[str, Any]) -> None:
        self._write(line)
        self._take_in(line)

    def _write(self, line: dict[str, Any]) -> None:
        """On disk before anything else happens."""
        self._stream.write(json.dumps(line) + "\n")
        self._stream.flush()
        os.fsync(self._stream.fileno())

    def _load(self) -> None:
        self._stream.seek(0)
        whole = 0
        for text in self._stream:
            if not text.endswith("\n"):
                break  # the machine stopped while it was written, so nothing was sent for it
            whole += len(text.encode())
            self._take_in(json.loads(text))
        self._stream.truncate(whole)
        self._stream.seek(0, os.SEEK_END)

    def _take_in(self, line: dict[str, Any]) -> None:
        self.nonce = line.get("nonce", self.nonce)
        for queue_id, index in line.get("sending", ()):
            self._sent_at.setdefault((queue_id, index), datetime.fromisoformat(line["at"]))
        for queue_id, index in line.get("let_go", ()):
            self._sent_at.pop((queue_id, index), None)
        for answer, names in (("posted", self.posted), ("duplicates", self.duplicates)):
            for queue_id, index in line.get(answer, ()):
                names.add((queue_id, index))
                self._sent_at.pop((queue_id, index), None)
        for queue_id, index, why in line.get("refused", ()):
            self.refused[queue_id, index] = why
            self._sent_at.pop((queue_id, index), None)


def _file(folder: Path, about: Mapping[str, Any]) -> Path:
    digest = hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()
    return folder / f"{digest[:16]}.jsonl"
