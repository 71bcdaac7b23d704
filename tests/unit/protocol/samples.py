"""Values that several tests of the protocol share."""

from delivery.protocol.limits import Limits

LIMITS = Limits(max_body_bytes=1_000_000, max_frame_bytes=2_000_000)
