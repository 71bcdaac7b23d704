"""Who knocks with a thousand others is let in by and by, and who is in already is not kept waiting."""

import socket
from contextlib import ExitStack

from twisted.internet.protocol import Factory, Protocol
from twisted.internet.testing import MemoryReactor

from willow_site.server.patient_port import MOST_IN_A_TURN, PatientPort

TURNS = 4


class Counted(Protocol):
    count = 0

    def makeConnection(self, transport: object) -> None:
        Counted.count += 1


def test_a_turn_takes_a_few_however_many_came_the_last_time() -> None:
    Counted.count = 0
    with ExitStack() as stack:
        bound = stack.enter_context(socket.socket())
        bound.bind(("127.0.0.1", 0))
        bound.listen(TURNS * MOST_IN_A_TURN)
        bound.setblocking(False)
        for _ in range(TURNS * MOST_IN_A_TURN):
            stack.enter_context(socket.create_connection(bound.getsockname()))
        port = PatientPort.adopted(bound, Factory.forProtocol(Counted), MemoryReactor())
        stack.callback(port.socket.close)
        for turn in range(1, TURNS + 1):
            port.doRead()
            assert Counted.count == turn * MOST_IN_A_TURN
