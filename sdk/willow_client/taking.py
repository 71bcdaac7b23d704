"""Fetches and pops under way: messages that come after their caller has gone are given back."""

from willow_client.calls import AwaitedCall
from willow_client.commands import Fetch, Pop
from willow_client.connection import Connection
from willow_client.frames import AnyFrame, Delivery
from willow_client.message import Message


class TakingCall(AwaitedCall):
    """Its answer is the list of messages, which is empty if none came. Each says how many are left."""

    __slots__ = ("_connection", "_messages")

    def __init__(self, connection: Connection, command: Fetch | Pop) -> None:
        # A pop that is repeated might take a second message, and the first would be lost.
        super().__init__(command, repeatable=isinstance(command, Fetch))
        self._connection = connection
        self._messages: list[Message] = []

    @property
    def outlives_timeout(self) -> bool:
        return True

    def _take_answer(self, frame: AnyFrame) -> bool:
        if not isinstance(frame, Delivery):
            self.succeed([])
            return True
        if self.answer.done():
            self._give_back(frame)
        elif frame.finished or self._connection.claims.add(frame):
            self._messages.append(Message(self._connection, frame))
        if not frame.left:
            self.succeed(self._messages)
        return not frame.left

    def _give_back(self, delivery: Delivery) -> None:
        """The caller was cancelled, or its time is over."""
        deliveries = [message.let_go() for message in self._messages if not delivery.finished]
        self._messages.clear()
        if not delivery.finished:
            self._connection.release([*deliveries, delivery])
