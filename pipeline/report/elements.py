"""HTML as a tree. Texts are escaped when it is written out, wherever they come from."""

import re
from typing import Any
from xml.etree.ElementTree import Element, tostring

Child = Element | str | None

# Characters that have no place in a page: control characters other than white space, and halves of pairs.
UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def element(tag: str, *children: Child, **attributes: Any) -> Element:
    """Attributes as keywords: `class_`, and `aria_label` for `aria-label`. None leaves one out."""
    made = Element(tag)
    for name, value in attributes.items():
        if value is not None:
            made.set(name.rstrip("_").replace("_", "-"), _clean(str(value)))
    for child in children:
        if isinstance(child, str):
            _append_text(made, _clean(child))
        elif child is not None:
            made.append(child)
    return made


def html(root: Element) -> str:
    return "<!DOCTYPE html>\n" + tostring(root, encoding="unicode", method="html")


def _append_text(parent: Element, text: str) -> None:
    if len(parent):
        parent[-1].tail = (parent[-1].tail or "") + text
    else:
        parent.text = (parent.text or "") + text


def _clean(text: str) -> str:
    return UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text)
