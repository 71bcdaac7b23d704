"""Frames of 32 MB that hold millions of empty objects in the place of a body."""

from benchmarks.neighbours.attacker import Spoils, Target, deadline, is_over, raw_socket

NAME = "huge-frames"
SIZE = 32 * 1024 * 1024 - 1024  # bytes
OBJECT = '{"":0},'


async def attack(target: Target, seconds: float) -> Spoils:
    end = deadline(seconds)
    frame = '{"type":"post","queue":"q","label":1,"message":[' + OBJECT * (SIZE // len(OBJECT)) + "0]}"
    async with raw_socket(target) as socket:
        sent = 0
        while not is_over(end):
            await socket.socket.send(frame)
            sent += 1
            await socket.answered(sent)
        return socket.got
