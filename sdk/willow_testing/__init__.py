"""For tests of programs that use Willow: a fake in memory, and (as a plugin of pytest) a real broker."""

from willow_testing.fake import FakeMessage, FakeWillow, PostedMessage

__all__ = ["FakeMessage", "FakeWillow", "PostedMessage"]
