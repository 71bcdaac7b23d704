"""The signature of an error text: the same for what differs only in particulars, stable, and the same everywhere."""

import re
from collections.abc import Iterator
from functools import reduce

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from pipeline.facts.signatures import LONGEST, LONGEST_READ, RULES, signature
from tests.support.databases import Databases, query

EXAMPLES = {
    "": "",
    "connection refused": "connection refused",
    "order 4711 not found": "order # not found",
    "failed after 3 attempts, 2.5 s": "failed after # attempts, # s",
    "balance is -12.50": "balance is #",
    "user 6f9619ff-8b86-d011-b42d-00c04fc964ff is gone": "user <uuid> is gone",
    "object at 0x7f3a2c11d0": "object at <hex>",
    "commit 3f786850e387550fdab836ed7e6dc881de23001b": "commit <hex>",
    "facade and decade are words": "facade and decade are words",
    "at 2026-11-16T12:30:00.123Z it broke": "at <time> it broke",
    "at 2026-11-16 12:30:00,123 it broke": "at <time> it broke",
    "no such file: '/etc/passwd'": "no such file: '…'",
    "cannot read /var/lib/willow/data/7.bin": "cannot read /…",
    "cannot read C:\\data\\7.bin now": "cannot read \\… now",
    "GET https://example.org/a/7?b=c failed": "GET <url> failed",
    "mail to ann.other@example.org bounced": "mail to <mail> bounced",
    "can't open 'a' or \"b\" or `c`": "can't open '…' or \"…\" or `…`",
    "10.0.0.1:5432 refused": "#:# refused",
    "line one\n\tline  two\r\n": "line one line two",
    "5 of 7": "# of #",
}
# Texts as they come, and texts that are made of what the rules look for. PostgreSQL's texts have no NUL.
CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
SIGNS = "'\"`/\\@-+.,:~ \n\taefxTZ_0#<>()=…\x7f\x85\xa0\u2028\u3000éß\u212a😀"
PIECES = (
    *(
        "://",
        "http",
        "0x",
        "7",
        "12",
        "2026",
        "11",
        "C:\\",
        "2026-11-16",
        "12:30:00",
        "deadbeef",
        "a@example.org",
        "  ",
    ),
    *("6f9619ff-8b86-d011-b42d-00c04fc964ff", "😀" * 64),
)
PARTICULARS = st.sampled_from([*SIGNS, *PIECES])
TEXTS = st.lists(
    st.one_of(st.text(CHARACTERS, max_size=30), st.lists(PARTICULARS, max_size=40).map("".join)),
    min_size=1,
    max_size=150,
)
A_FEW = settings(max_examples=12, deadline=None, derandomize=True)


def signatures(spark: SparkSession, texts: list[str | None]) -> list[tuple[str, str]]:
    """The signature of each text, and the signature of that."""
    once = spark.createDataFrame([(text,) for text in texts], "error string").select(
        signature(F.col("error")).alias("once")
    )
    return [tuple(row) for row in once.select("once", signature(F.col("once"))).collect()]


def test_examples(spark: SparkSession) -> None:
    found = [once for once, _ in signatures(spark, list(EXAMPLES))]
    assert dict(zip(EXAMPLES, found, strict=True)) == EXAMPLES


def test_no_text_has_the_empty_signature(spark: SparkSession) -> None:
    assert signatures(spark, [None]) == [("", "")]


@A_FEW
@given(texts=TEXTS)
def test_a_signature_is_its_own_signature_and_never_longer_than_the_text(spark: SparkSession, texts: list[str]) -> None:
    for text, (once, twice) in zip(texts, signatures(spark, texts), strict=True):
        assert once == twice, text
        assert len(once) <= min(len(text), LONGEST), text


@A_FEW
@given(
    words=st.lists(st.from_regex(r"[g-z]{1,8}", fullmatch=True), min_size=1, max_size=8),
    separator=st.sampled_from([" ", ": ", " = ", " (", ", "]),
    numbers=st.lists(st.tuples(st.integers(), st.integers()), min_size=8, max_size=8),
)
def test_numbers_do_not_matter(
    spark: SparkSession, words: list[str], separator: str, numbers: list[tuple[int, int]]
) -> None:
    pairs = list(zip(words, numbers, strict=False))
    some = separator.join(f"{word} {number}" for word, (number, _) in pairs)
    others = separator.join(f"{word} {number}" for word, (_, number) in pairs)
    (first, _), (second, _) = signatures(spark, [some, others])
    assert first == second


# 10,000 characters are the most that the protocol lets through.
LONG_TEXTS = [part * (10_000 // len(part)) for part in ("/a", "1,", "'", "a@", "0x", "\\", "a", "7", " ", "no 😀 ")]


def test_long_texts_do_no_harm(spark: SparkSession) -> None:
    for once, twice in signatures(spark, LONG_TEXTS):
        assert once == twice and len(once) <= LONGEST


@pytest.fixture(scope="module")
def database(databases: Databases) -> Iterator[str]:
    url = databases.make()
    yield url
    databases.drop(url)


def in_the_database(url: str, texts: list[str]) -> list[str]:
    """By the function that the console's dead letters go by."""
    statement = "SELECT willow_error_signature(t) FROM unnest(%s::text[]) WITH ORDINALITY AS given (t, n) ORDER BY n"
    rows = query(url, statement, texts)
    return [found for (found,) in rows]


def in_plain_python(text: str) -> str:
    replaced = reduce(lambda done, rule: re.sub(*rule, done), RULES, text[:LONGEST_READ])
    return replaced.strip(" ")[:LONGEST].strip(" ")


def test_console_and_pipeline_have_the_same_examples(database: str) -> None:
    assert in_the_database(database, list(EXAMPLES)) == list(EXAMPLES.values())
    assert query(database, "SELECT willow_error_signature(NULL)") == [("",)]


@A_FEW
@given(texts=TEXTS)
def test_console_pipeline_and_plain_python_agree_about_every_text(
    spark: SparkSession, database: str, texts: list[str]
) -> None:
    by_python = [in_plain_python(text) for text in texts]
    assert in_the_database(database, texts) == by_python
    assert [once for once, _ in signatures(spark, list(texts))] == by_python


def test_console_pipeline_and_plain_python_agree_about_long_texts(spark: SparkSession, database: str) -> None:
    by_python = [in_plain_python(text) for text in LONG_TEXTS]
    assert in_the_database(database, LONG_TEXTS) == by_python
    assert [once for once, _ in signatures(spark, list(LONG_TEXTS))] == by_python
