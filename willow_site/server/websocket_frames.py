"""The short way from bytes of a socket to messages: whole text frames.

Nearly everything that clients send is one of these. Whatever else comes, Autobahn takes the long way.
"""

from websockets.speedups import apply_mask

FINAL_TEXT = 0x81
MASKED = 0x80
LENGTH_BITS = 0x7F
LENGTH_IN_2_BYTES, LENGTH_IN_8_BYTES = 126, 127
MASK_BYTES = 4
SMALLEST_HEADER = 2 + MASK_BYTES


def whole_text(data: bytes, begin: int) -> tuple[str, int] | None:
    """The text of the frame that begins there, and where the next frame begins.

    None if it is not a masked final text frame, is incomplete, has 64 KiB or more, or is not UTF-8.
    """
    available = len(data)
    if available - begin < SMALLEST_HEADER or data[begin] != FINAL_TEXT or not data[begin + 1] & MASKED:
        return None
    length, mask_begins = data[begin + 1] & LENGTH_BITS, begin + 2
    if length == LENGTH_IN_8_BYTES:
        return None
    if length == LENGTH_IN_2_BYTES:
        length, mask_begins = int.from_bytes(data[mask_begins : mask_begins + 2]), mask_begins + 2
        if length < LENGTH_IN_2_BYTES:  # it would have fitted into one
            return None
    text_begins = mask_begins + MASK_BYTES
    end = text_begins + length
    if end > available:
        return None
    try:
        return apply_mask(data[text_begins:end], data[mask_begins:text_begins]).decode(), end
    except UnicodeDecodeError:
        return None
