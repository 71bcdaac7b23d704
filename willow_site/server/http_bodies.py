"""How much of the bodies of requests a process takes at once."""

from django.conf import settings

SMALL_BYTES = 64 * 1024  # of a body that is taken in any case
FORM_BYTES = 2_621_440  # Django's own default for a form
API = b"/api/"


def most_bytes(path: bytes) -> int:
    """Messages come in by the API; everywhere else are forms."""
    return int(settings.WILLOW.max_frame_bytes) if path.startswith(API) else FORM_BYTES


class BodiesUnderWay:
    """Bytes of large bodies that are coming in or being worked on, in all of this process."""

    def __init__(self) -> None:
        self.bytes = 0

    @property
    def most_bytes(self) -> int:
        return 2 * int(settings.WILLOW.max_frame_bytes)

    def take(self, size: int, whole: int) -> bool:
        """Count so much more of a body that has `whole` bytes by now. False if that would be too much."""
        if whole > SMALL_BYTES and self.bytes + size > self.most_bytes:
            return False
        self.bytes += size
        return True

    def give_back(self, size: int) -> None:
        self.bytes -= size
