"""IDs that ended messages leave behind: each is given out once, and their number has bounds."""

from dataclasses import dataclass

from delivery.moves.free_ids import MOST_IN_ALL, MOST_OF_A_QUEUE, FreeIds

QUEUE, OTHER = 1, 2


@dataclass
class Ended:
    queue_id: int
    sequence: int


def free(*sequences: int, queue_id: int = QUEUE) -> FreeIds:
    ids = FreeIds()
    ids.give(Ended(queue_id, sequence) for sequence in sequences)
    return ids


def test_each_id_is_given_out_once() -> None:
    ids = free(3, 5)
    assert {ids.take(QUEUE), ids.take(QUEUE)} == {3, 5}
    assert ids.take(QUEUE) is None
    assert ids.count == 0


def test_ids_are_of_their_own_queue() -> None:
    assert free(3).take(OTHER) is None


def test_a_queue_that_is_forgotten_has_none_left() -> None:
    ids = free(3, 5)
    ids.forget(QUEUE)
    assert (ids.take(QUEUE), ids.count) == (None, 0)


def test_one_queue_keeps_a_bounded_number() -> None:
    assert free(*range(MOST_OF_A_QUEUE + 10)).count == MOST_OF_A_QUEUE


def test_all_queues_together_keep_a_bounded_number() -> None:
    ids = FreeIds()
    for queue_id in range(MOST_IN_ALL // MOST_OF_A_QUEUE + 1):
        ids.give(Ended(queue_id, sequence) for sequence in range(MOST_OF_A_QUEUE))
    assert ids.count == MOST_IN_ALL
