"""The signature of an error text: the same for what differs only in particulars, and stable."""

from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from pipeline.facts.signatures import LONGEST, signature

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
# Texts as they come, and texts that are made of what the rules look for.
PARTICULARS = st.sampled_from(
    [
        "'",
        '"',
        "`",
        "/",
        "\\",
        "://",
        "@",
        "0x",
        "-",
        ".",
        ",",
        ":",
        " ",
        "\n",
        "a",
        "f",
        "Z",
        "…",
        "#",
        "<",
        ">",
        "7",
        "12",
    ]
)
TEXTS = st.lists(
    st.one_of(st.text(max_size=30), st.lists(PARTICULARS, max_size=40).map("".join)), min_size=1, max_size=150
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


def test_long_texts_do_no_harm(spark: SparkSession) -> None:
    """10,000 characters are the most that the protocol lets through."""
    texts = [part * (10_000 // len(part)) for part in ("/a", "1,", "'", "a@", "0x", "\\", "a", "7", " ")]
    for once, twice in signatures(spark, texts):
        assert once == twice and len(once) <= LONGEST
