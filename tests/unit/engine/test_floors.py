"""Floors: claims may skip what was taken before, but never what came in since."""

from delivery.engine.floors import Floors

QUEUE, PRIORITY_0, PRIORITY_5 = 1, 0, -5  # ranks are priorities turned round


def floors_after_a_claim(index: int = 10) -> Floors:
    floors = Floors()
    floors.get(QUEUE)
    floors.raise_to(QUEUE, PRIORITY_0, index)
    return floors


def test_a_claim_starts_where_the_last_one_ended() -> None:
    assert floors_after_a_claim().get(QUEUE) == (PRIORITY_0, 10)


def test_what_is_as_urgent_lies_above_the_floor() -> None:
    floors = floors_after_a_claim()
    floors.lower_to(QUEUE, PRIORITY_0)
    assert floors.get(QUEUE) == (PRIORITY_0, 10)


def test_what_is_more_urgent_removes_the_floor() -> None:
    floors = floors_after_a_claim()
    floors.lower_to(QUEUE, PRIORITY_5)
    assert floors.get(QUEUE) is None


def test_what_came_back_removes_the_floor() -> None:
    floors = floors_after_a_claim()
    floors.forget(QUEUE)
    assert floors.get(QUEUE) is None


def test_what_came_in_while_a_claim_was_under_way_leaves_no_floor() -> None:
    for come_in in (lambda floors: floors.lower_to(QUEUE, PRIORITY_5), lambda floors: floors.forget(QUEUE)):
        floors = floors_after_a_claim()
        floors.get(QUEUE)
        come_in(floors)
        floors.raise_to(QUEUE, PRIORITY_0, 11)
        assert floors.get(QUEUE) is None


def test_what_came_in_before_a_claim_began_was_seen_by_it() -> None:
    floors = floors_after_a_claim()
    floors.lower_to(QUEUE, PRIORITY_5)
    floors.get(QUEUE)
    floors.raise_to(QUEUE, PRIORITY_5, 11)
    assert floors.get(QUEUE) == (PRIORITY_5, 11)


def test_a_claim_that_ends_after_its_queue_was_forgotten_leaves_no_floor() -> None:
    floors = Floors()
    floors.get(QUEUE)
    floors.remove(QUEUE)
    floors.lower_to(QUEUE, PRIORITY_5)
    floors.raise_to(QUEUE, PRIORITY_0, 10)
    assert floors.get(QUEUE) is None
