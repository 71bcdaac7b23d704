"""How log lines look: a line for people, or a JSON object for programs. Neither ever shows a key or a body."""

import json
import logging
import re
from datetime import UTC, datetime
from typing import Any

from willow_site.request_ids import request_id

# Which request, connection or command a line is about; set by `extra=`, see delivery/storage/log_ids.py.
IDS = ("session", "label", "shard", "sequence", "address")
SECRETS = re.compile(
    r"(?P<key>\bwk_)[\w-]{8,}"  # a key of a client
    r"|(?P<scheme>\b(?:token|bearer)[= ])[^\s&\"',]+"  # in a query string or a header
    r"|(?P<url>://[^:/@\s]*:)[^@\s]+(?=@)",  # the password of a URL
    re.IGNORECASE,
)
# What PostgreSQL adds to an error may quote the whole row. It ends where the next part of a traceback begins.
QUOTED_ROW = re.compile(
    r"^(DETAIL|CONTEXT): .*?(?=^(?:CONTEXT: |Traceback |The above |During handling )|\Z)", re.M | re.S
)
MASK = "***"


def without_secrets(text: str) -> str:
    """Without keys, tokens, passwords and quoted rows, whoever wrote them."""
    text = SECRETS.sub(lambda found: (found["key"] or found["scheme"] or found["url"]) + MASK, text)
    return QUOTED_ROW.sub(rf"\1: {MASK}\n", text).rstrip("\n") if "DETAIL" in text or "CONTEXT" in text else text


def _ids(record: logging.LogRecord) -> dict[str, Any]:
    found = {"request_id": request_id.get(), **{name: getattr(record, name, None) for name in IDS}}
    return {name: value for name, value in found.items() if value is not None}


class LineFormatter(logging.Formatter):
    def __init__(self) -> None:
        super().__init__("{asctime} {levelname} {name}: {message}", style="{")

    def formatMessage(self, record: logging.LogRecord) -> str:
        ids = " ".join(f"{name}={value}" for name, value in _ids(record).items())
        return f"{super().formatMessage(record)} [{ids}]" if ids else super().formatMessage(record)

    def format(self, record: logging.LogRecord) -> str:
        return without_secrets(super().format(record))


class JsonFormatter(logging.Formatter):
    """One object to a line. `node` is the name of the process in the cluster."""

    def __init__(self, node: str) -> None:
        super().__init__()
        self._node = node

    def format(self, record: logging.LogRecord) -> str:
        content: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": without_secrets(record.getMessage()),
            "node": self._node,
            "process": record.process,
            **_ids(record),
        }
        if record.exc_info:
            content["exception"] = without_secrets(self.formatException(record.exc_info))
        return json.dumps(content, default=str)
