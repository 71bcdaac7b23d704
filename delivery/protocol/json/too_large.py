"""Finds the label of a frame that was too large to be kept, in what is left of it."""

import re

from delivery.protocol.errors import FrameError
from delivery.protocol.fields import U64_MAX
from delivery.protocol.json.parts import WHITESPACE
from delivery.protocol.limits import FrameEnds, Limits, frame_too_large

# A quote inside a text stands behind a backslash, so this is the key of a member wherever it is found.
_LABEL = re.compile(rb'(?<!\\)"label"[ \t\r\n]*:[ \t\r\n]*(\d{1,20})(?=[ \t\r\n]*[,}])')


def too_large(frame: FrameEnds, limits: Limits) -> FrameError:
    return frame_too_large(limits, _label_of_cut(frame))


def _label_of_cut(frame: FrameEnds) -> int | None:
    """Of a frame that holds one command: a list has as many labels as commands, and is refused as a whole."""
    if not frame.head.lstrip(WHITESPACE).startswith(b"{"):
        return None
    found = _LABEL.findall(frame.tail) or _LABEL.findall(frame.head)
    label = int(found[-1]) if found else None
    return label if label is not None and label <= U64_MAX else None
