"""Bodies as the console shows them."""

import pytest

from delivery.inspection.message import body_views, first_line


@pytest.mark.parametrize(
    ("body", "best"),
    [
        (b'{"order": 7}', "json"),
        (b"7", "json"),
        (b"hello\n\tworld", "text"),
        ("zwölf".encode(), "text"),
        (b"", "text"),
        (b"\x89PNG\r\n\x1a\n", "hex"),
        (b"a\x00b", "hex"),
        (b"[" * 100_000, "text"),
    ],
)
def test_the_view_that_fits_best(body: bytes, best: str) -> None:
    assert body_views(body, len(body)).best == best


def test_json_is_laid_out_and_keeps_its_characters() -> None:
    assert body_views('{"a":"ö"}'.encode(), 10).json == '{\n  "a": "ö"\n}'


def test_a_body_that_was_cut_is_no_json() -> None:
    views = body_views(b'{"a": 1}', 900)
    assert (views.json, views.text, views.shown, views.size) == (None, '{"a": 1}', 8, 900)


def test_text_that_was_cut_within_a_character_is_still_text() -> None:
    cut = "zwölf".encode()[:3]
    assert body_views(cut, 6).text == "zw"
    assert body_views(cut, 3).text is None


def test_hex_has_offset_bytes_and_characters() -> None:
    lines = body_views(b"0123456789abcdef\x00z", 18).hex.splitlines()
    assert lines[0] == "00000000  30 31 32 33 34 35 36 37 38 39 61 62 63 64 65 66  0123456789abcdef"
    assert lines[1] == f"00000010  {'00 7a':<47}  .z"


def test_in_a_list_a_body_stays_on_one_line() -> None:
    assert first_line(b"a\nb\x00\xffc") == "a·b·\N{REPLACEMENT CHARACTER}c"
