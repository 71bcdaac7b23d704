"""Log lines in both formats: what they tell, and what they never tell."""

import json
import logging
import sys
from typing import Any

import pytest

from willow_site.log_format import JsonFormatter, LineFormatter, without_secrets
from willow_site.request_ids import request_id

KEY = "wk_3oKqZ6c2mJqk8mC0Xw1dT9uLr5e"
FORMATTERS = [LineFormatter(), JsonFormatter("node-1")]


def record(message: str, *arguments: object, **more: Any) -> logging.LogRecord:
    made = logging.LogRecord(
        "delivery.storage.lanes", logging.ERROR, __file__, 1, message, arguments, more.pop("exc_info", None)
    )
    made.__dict__.update(more)
    return made


def test_json_is_one_object_to_a_line() -> None:
    line = JsonFormatter("node-1").format(record("%s: two\nlines", "posts", session=7, label=3, shard=None))
    assert "\n" not in line
    content = json.loads(line)
    assert content.pop("time").endswith("+00:00")
    assert content.pop("process") > 0
    assert content == {
        "level": "error",
        "logger": "delivery.storage.lanes",
        "message": "posts: two\nlines",
        "node": "node-1",
        "session": 7,
        "label": 3,
    }


def test_a_traceback_stays_in_its_object() -> None:
    try:
        _ = 1 / 0
    except ZeroDivisionError:
        line = JsonFormatter("node-1").format(record("failed", exc_info=sys.exc_info()))
    assert "ZeroDivisionError" in json.loads(line)["exception"]


def test_what_comes_after_a_quoted_row_is_kept() -> None:
    text = "bad\nDETAIL:  Key (body)=(my-body).\n\nThe above exception was the cause:\n\nTraceback (most recent …):"
    assert without_secrets(text) == text.replace(" Key (body)=(my-body).\n\n", "***\n")


def test_the_id_of_the_request_is_on_its_lines() -> None:
    token = request_id.set("abc-1")
    try:
        assert json.loads(JsonFormatter("node-1").format(record("m")))["request_id"] == "abc-1"
        assert (
            LineFormatter()
            .format(record("m", session=7))
            .endswith("ERROR delivery.storage.lanes: m [request_id=abc-1 session=7]")
        )
    finally:
        request_id.reset(token)
    assert LineFormatter().format(record("m")).endswith("ERROR delivery.storage.lanes: m")


@pytest.mark.parametrize("formatter", FORMATTERS, ids=["line", "json"])
@pytest.mark.parametrize(
    ("text", "secret"),
    [
        (f"the key {KEY} is bad", KEY),
        ("GET /connect/?id=1&token=s3cret-of-mine&x=2", "s3cret-of-mine"),
        ("Authorization: Token s3cret-of-mine", "s3cret-of-mine"),
        ("{'authorization': 'Bearer s3cret-of-mine'}", "s3cret-of-mine"),
        ("cannot connect to postgresql://willow:s3cret-of-mine@db.example.org/willow", "s3cret-of-mine"),
        ("redis://:s3cret-of-mine@redis.example.org", "s3cret-of-mine"),
        ("violates a constraint\nDETAIL:  Failing row contains (7,\nmy-body\n, 1).", "my-body"),
        ("bad input\nCONTEXT:  unnamed portal parameter $1 = 'my-body'", "my-body"),
    ],
)
def test_keys_and_passwords_are_masked(formatter: logging.Formatter, text: str, secret: str) -> None:
    try:
        raise RuntimeError(text)
    except RuntimeError:
        line = formatter.format(record("wrong: %s", text, exc_info=sys.exc_info()))
    assert secret not in line
    assert "***" in line
