"""Large frames of JSON are decoded in a process of their own: no other client waits for that.

A frame of 32 MB takes up to a second, during which a thread would keep the interpreter to itself. Commands come back as
they would from the codec.
"""

from delivery.gateway.side_process import SideProcess
from delivery.protocol import json
from delivery.protocol.commands import Command
from delivery.protocol.errors import FrameError
from delivery.protocol.limits import Limits

LARGE_BYTES = 1024 * 1024  # below that, a frame takes less than it takes to send it to another process and back

_process = SideProcess("decodes large frames")


async def decode_large(text: str, limits: Limits) -> list[Command | FrameError]:
    return await _process.run_async(json.decode, text, limits)
