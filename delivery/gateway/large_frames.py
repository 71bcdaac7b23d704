"""Large frames are decoded in a process of their own: no other client waits for that.

A frame of 32 MB takes up to a second, during which a thread would keep the interpreter to itself. The frame goes there,
and large bodies come back, through a socket and by a thread: the system copies them without the interpreter. It is one
frame at a time, whoever sends them, so that all of them take the memory of one.
"""

import asyncio
import logging
import pickle
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager

from delivery.gateway import decoder, side_socket
from delivery.gateway.side_process import SideProcess
from delivery.protocol import bincode
from delivery.protocol.commands import Command
from delivery.protocol.errors import Code, FrameError
from delivery.protocol.json.too_large import too_large as json_too_large
from delivery.protocol.limits import FrameEnds, Limits
from delivery.storage.presence import LONG_AGO, clients_here

logger = logging.getLogger(__name__)

LARGE_BYTES = 1024 * 1024  # below that, a frame takes less than it takes to send it to another process and back
MOST_KEPT = 2  # frames of the largest size, or as many bytes of smaller ones
MOST_KEPT_FOR_LITTLE = 3  # beside which a little one may wait
LITTLE_PART = 8  # of the largest frame: whoever sends no more than that sends little
REFUSAL_SECONDS = 1.0  # after which it is told: whoever sends it again at once costs as much as if it was taken
TIMES, MOST_REST_SECONDS = 6, 0.5  # as long as a frame took it rests, while others are there


class LargeFrames:
    """The process is made when first needed. If it is killed, a frame is decoded here, and the next gets a new one."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._rested_at = LONG_AGO
        self._kept_bytes = 0  # of frames that wait to be decoded, or whose commands wait to be done
        self._process = SideProcess(decoder.__name__)

    @asynccontextmanager
    async def decoded(
        self, pieces: Sequence[bytes], binary: bool, limits: Limits
    ) -> AsyncIterator[Iterator[Command | FrameError]]:
        """The commands of a frame that came in pieces, made one after the other as they are asked for, which is done
        inside."""
        size = sum(map(len, pieces))
        if not self._has_room_for(size, limits):
            refusal = _overloaded(pieces, binary, limits)
            del pieces
            await asyncio.sleep(REFUSAL_SECONDS)
            yield iter([refusal])
            return
        self._kept_bytes += size
        try:
            async with self._turn:
                await asyncio.sleep(self._rested_at - time.perf_counter())
                began = time.perf_counter()
                commands = await self._decoded_by_thread(pieces, binary, limits)
                self._rest_after(time.perf_counter() - began)
            del pieces  # they are kept no longer than until they are commands
            yield commands
        finally:
            self._kept_bytes -= size

    def _rest_after(self, seconds: float) -> None:
        """The other process had a core to itself, and what it decoded keeps the storage busy: others go first."""
        if clients_here.is_of_several:
            self._rested_at = time.perf_counter() + min(TIMES * seconds, MOST_REST_SECONDS)

    def _has_room_for(self, size: int, limits: Limits) -> bool:
        most = MOST_KEPT_FOR_LITTLE if size <= limits.max_frame_bytes // LITTLE_PART else MOST_KEPT
        return self._kept_bytes + size <= most * limits.max_frame_bytes

    async def _decoded_by_thread(
        self, pieces: Sequence[bytes], binary: bool, limits: Limits
    ) -> Iterator[Command | FrameError]:
        asking = asyncio.ensure_future(asyncio.to_thread(self._decoded, pieces, binary, limits))
        called_off: asyncio.CancelledError | None = None
        while not asking.done():  # its client may go, also more than once: the next one must not get its answer
            try:
                await asyncio.wait({asking})
            except asyncio.CancelledError as error:
                called_off = error
        if called_off is not None:
            raise called_off
        return asking.result()

    def _decoded(self, pieces: Sequence[bytes], binary: bool, limits: Limits) -> Iterator[Command | FrameError]:
        try:
            beside = self._process.connection()
            side_socket.send(beside, pickle.dumps((sum(map(len, pieces)), binary, limits)))
            for piece in pieces:
                beside.sendall(piece)
            return decoder.receive_answer(beside)
        except (OSError, EOFError):
            logger.warning("The process that decodes large frames has ended. Another one will be started.")
            self.end()
            return iter(decoder.decode(b"".join(pieces), binary, limits))
        except Exception:
            self.end()  # who knows what of the answer is still to come
            raise

    @property
    def process_number(self) -> int | None:
        return self._process.number

    def end(self) -> None:
        """End the process. The next frame gets a new one."""
        self._process.end()


large_frames = LargeFrames()


def _overloaded(pieces: Sequence[bytes], binary: bool, limits: Limits) -> FrameError:
    """With its label, if that can be seen without decoding all of it."""
    ends = FrameEnds(*pieces)
    label = (bincode.too_large(ends, limits) if binary else json_too_large(ends, limits)).label
    return FrameError(Code.OVERLOADED, "node", "This node has many large frames to decode. Please try again.", label)
