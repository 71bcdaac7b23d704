"""What is known of peers without a journal: which claims ended with their connections."""

from faults.checker import SAFETY, check
from faults.history import Kind
from faults.peers.afterwards import ended_by_disconnects, remains_of
from faults.remains import Fault
from tests.unit.faults.story import Story


def after_a_reset(heard_afterwards: bool) -> Story:
    """All sockets are reset. The message goes to another client long before the first one notices."""
    story = Story()
    for client in ("a", "b"):
        story.connect(client)
    story.post("m", 5)
    story.receive("a", 5)
    story.faults = [Fault("all sockets reset", story.now + 1, story.now + 1)]
    story.now += 2
    story.receive("b", 5, attempt=2)
    story.now += 5
    if heard_afterwards:
        story.note("a", Kind.NOTHING, connection=1)
    story.lose("a")
    return story


def double_claims(story: Story) -> tuple[int, int]:
    """Broken, and explained."""
    history = story.evidence().history
    remains = remains_of(history, ["m"])
    remains.endings.extend(ended_by_disconnects(history, story.faults))
    [verdict] = check(history, remains, story.faults, judges={"double claims": SAFETY["double claims"]}).verdicts
    return len(verdict.broken), verdict.explained.total()


def test_a_message_may_go_on_before_a_client_notices_that_its_connection_is_lost() -> None:
    assert double_claims(after_a_reset(heard_afterwards=False)) == (0, 1)


def test_but_not_while_the_peer_still_speaks_to_that_client() -> None:
    assert double_claims(after_a_reset(heard_afterwards=True)) == (1, 0)
