"""Several faults at once. Each is healed by itself, whatever the others have done to it."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager

import psycopg

from faults.willow.troubles import Scene, Trouble


@contextmanager
def all_at_once(troubles: Sequence[Trouble], scene: Scene, tell: Callable[[str], None]) -> Iterator[None]:
    with ExitStack() as healing:
        for trouble in troubles:
            fault = trouble.inflict(scene)
            fault.__enter__()
            healing.callback(_heal, trouble, fault, tell)
        yield


def _heal(trouble: Trouble, fault: AbstractContextManager[None], tell: Callable[[str], None]) -> None:
    """A connection that the fault held may have died of another one."""
    try:
        fault.__exit__(None, None, None)
    except psycopg.Error as error:
        tell(f"'{trouble.name}' met another fault: {error}")
