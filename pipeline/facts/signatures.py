"""The signature of an error text: what is left when everything that differs from case to case is taken out.

Rules are regular expressions, tried in this order over the whole text. They must keep three properties, on which
the tests insist: a signature is its own signature; it is never longer than the text; and no rule looks ahead, so
that cutting the result short makes nothing match that did not before. A group is never repeated: Java would need
stack for each repetition, and an error text can be long.

The console's dead letters get the same signatures from the database's function `willow_error_signature`; whoever
changes a rule replaces that function, too, by a migration. So the rules say only what Java, PostgreSQL and Python take
in the same way: no short form for a class of characters, and no choice of which part of a match is how long.
PostgreSQL takes the longest match, the others the first that they find.
"""

from functools import reduce

from pyspark.sql import Column
from pyspark.sql import functions as F

LONGEST_READ = 1000  # characters of a text; an error may have 10,000, and says what it is much sooner
LONGEST = 300  # characters of a signature

_NOT_IN_WORD = r"(?<![0-9A-Za-z_])"
_HEX = "[0-9a-fA-F]"

RULES = (
    # From here on, a space is the only white space.
    (r"[\u0001-\u0020\u007f\u0085\u00a0]+", " "),
    # https://host/path?query
    (_NOT_IN_WORD + r"[a-z]{2,10}://[^ '\"<>]{4,}", "<url>"),
    (f"{_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}", "<uuid>"),
    # 2026-11-16, 2026-11-16T12:00:00.123456+01:00, 2026/11/16 12:00:00Z
    (r"[0-9]{4}[-/][0-9]{2}[-/][0-9]{2}(?:[T ][0-9]{2}:[0-9]{2}[0-9:.,]*(?:Z|[+-][0-9]{2}:?[0-9]{2})?)?", "<time>"),
    # 12:00:00,123
    (r"[0-9]{2}:[0-9]{2}:[0-9]{2}[0-9.,]*", "<time>"),
    # Bounded, or a long text without an @ would be walked through from each of its characters.
    (r"[^ @<>'\"(),;:=]{1,64}@[^ @<>'\"(),;:=]{3,}", "<mail>"),
    # An object's address, and hashes: words of eight hexadecimal digits or more, a decimal one among them.
    (f"{_NOT_IN_WORD}0[xX]{_HEX}{{3,}}", "<hex>"),
    (f"{_NOT_IN_WORD}[a-fA-F]{{1,7}}[0-9]{_HEX}{{7,}}", "<hex>"),
    (f"{_NOT_IN_WORD}[0-9]+[a-fA-F]{_HEX}{{6,}}", "<hex>"),
    # A quotation begins where no word is under way: the apostrophe of "can't" opens nothing.
    (_NOT_IN_WORD + r"'[^']+'", "'…'"),
    (_NOT_IN_WORD + r'"[^"]+"', '"…"'),
    (_NOT_IN_WORD + r"`[^`]+`", "`…`"),
    # /var/lib/thing, ./thing/part, C:\\thing\\part
    (r"(?<![0-9A-Za-z_/])(?:[.~]{1,2})?/[^ /'\":;,()<>…]+/[^ '\":;,()<>]*", "/…"),
    (_NOT_IN_WORD + r"[A-Za-z]:\\[^ '\":;,()<>…]+", r"\\…"),
    # 5, -5, 1.5, 10.0.0.1, 1,000; with the full stop or comma after it, so that a number at the end is like another
    (r"(?:(?<![0-9A-Za-z_])[+-])?[0-9][0-9.,]*", "#"),
    (r" +", " "),
)


def signature(text: Column) -> Column:
    """No text has the empty signature."""
    read = F.substring(F.coalesce(text, F.lit("")), 1, LONGEST_READ)
    replaced = reduce(lambda done, rule: F.regexp_replace(done, *rule), RULES, read)
    return F.trim(F.substring(F.trim(replaced), 1, LONGEST))
