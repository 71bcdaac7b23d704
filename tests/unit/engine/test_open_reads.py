"""How many reads may wait for an answer at a node, and of one caller."""

from delivery.engine.open_reads import LITTLE_SHARE, SHARE_OF_CALLER, OpenReads

MOST = 4 * LITTLE_SHARE


def begin(reads: OpenReads, caller: str, times: int = 1) -> int:
    """Returns how many were let in."""
    passed = 0
    for _ in range(times):
        if reads.refusal(caller) is None:
            reads.began(caller)
            passed += 1
    return passed


def test_one_caller_has_its_share_and_no_more() -> None:
    reads = OpenReads(MOST)
    assert begin(reads, "greedy", MOST) == MOST // SHARE_OF_CALLER
    assert begin(reads, "modest") == 1
    reads.ended("greedy")
    assert begin(reads, "greedy", 2) == 1


def test_whoever_has_little_is_not_refused_because_others_have_much() -> None:
    reads = OpenReads(MOST)
    for number in range(SHARE_OF_CALLER):
        begin(reads, f"greedy-{number}", MOST)
    assert begin(reads, "modest", MOST) == MOST // LITTLE_SHARE
