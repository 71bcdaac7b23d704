"""IDs that ended messages leave behind: each is given out once, and their number has bounds."""

from dataclasses import dataclass

from delivery.moves.free_ids import MOST_IN_ALL, MOST_OF_A_QUEUE, NEW_ID, FreeIds

QUEUE, OTHER = 1, 2


@dataclass
class Ended:
    queue_id: int
    sequence: int
    index: int = 1


def free(*sequences: int, queue_id: int = QUEUE) -> FreeIds:
    ids = FreeIds()
    ids.give((Ended(queue_id, sequence) for sequence in sequences), ids.moment)
    return ids


def test_each_id_is_given_out_once() -> None:
    ids = free(3, 5)
    assert {ids.take(QUEUE).sequence, ids.take(QUEUE).sequence} == {3, 5}
    assert ids.take(QUEUE) == NEW_ID
    assert ids.count == 0


def test_ids_are_of_their_own_queue() -> None:
    assert free(3).take(OTHER) == NEW_ID


def test_a_queue_that_is_forgotten_has_none_left() -> None:
    ids = free(3, 5)
    ids.forget(QUEUE)
    assert (ids.take(QUEUE), ids.count) == (NEW_ID, 0)


def test_ids_that_ended_before_a_connection_was_lost_are_forgotten() -> None:
    ids = free(3)
    under_way = ids.moment
    ids.forget_all()
    ids.give([Ended(QUEUE, 5)], under_way)
    assert (ids.take(QUEUE), ids.count) == (NEW_ID, 0)
    ids.give([Ended(QUEUE, 7)], ids.moment)
    assert ids.take(QUEUE).sequence == 7


def test_one_queue_keeps_a_bounded_number() -> None:
    assert free(*range(MOST_OF_A_QUEUE + 10)).count == MOST_OF_A_QUEUE


def test_all_queues_together_keep_a_bounded_number() -> None:
    ids = FreeIds()
    for queue_id in range(MOST_IN_ALL // MOST_OF_A_QUEUE + 1):
        ids.give((Ended(queue_id, sequence) for sequence in range(MOST_OF_A_QUEUE)), ids.moment)
    assert ids.count == MOST_IN_ALL
