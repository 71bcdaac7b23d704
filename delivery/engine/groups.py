"""What this node has done to messages of groups lets others of their groups go: decided soon, on the lane *jobs*."""

from collections import Counter
from collections.abc import Callable

from delivery.moves.groups import settle_groups
from delivery.protocol.errors import WillowError
from delivery.storage.lanes import Job, Lane


class Groups:
    """`became_ready` is told of queues, and of how many messages of them may go now."""

    def __init__(self, jobs: Lane, became_ready: Callable[[int, int], None]) -> None:
        self._jobs = jobs
        self._became_ready = became_ready
        self._is_submitted = False

    def settle_soon(self) -> None:
        if not self._is_submitted:
            self._is_submitted = True
            self._jobs.submit(Job(self._settle, self.promoted, self._leave_it_to_the_reaper))

    async def _settle(self, connection: object) -> Counter[int]:
        self._is_submitted = False  # what comes from here on may not be seen any more
        return await settle_groups(connection)  # type: ignore[arg-type]

    def promoted(self, ready: Counter[int]) -> None:
        for queue_id, messages in ready.items():
            self._became_ready(queue_id, messages)

    def _leave_it_to_the_reaper(self, error: WillowError) -> None:
        self._is_submitted = False
