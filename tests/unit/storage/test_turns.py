"""Which of what waits for a lane goes into its next batch."""

from dataclasses import dataclass

import pytest

from delivery.gateway.loop_share import MOST_REST_SECONDS
from delivery.storage import presence
from delivery.storage import turns as turns_module
from delivery.storage.presence import Presence
from delivery.storage.turns import FIRST, MOST_OF_ONE, Turns


@pytest.fixture(autouse=True)
def clients_here(monkeypatch: pytest.MonkeyPatch) -> Presence:
    """Those of other tests are not here."""
    monkeypatch.setattr(turns_module, "clients_here", Presence())
    return turns_module.clients_here


@dataclass(frozen=True)
class Item:
    source: str
    number: int
    weight: int = 0
    messages: int = 1


def filled(*items: Item, most: int = 4, most_weight: int = 10) -> Turns[Item]:
    turns: Turns[Item] = Turns(most, most_weight, lambda item: item.messages)
    for item in items:
        turns.add(item)
    return turns


def batches(turns: Turns[Item]) -> list[list[Item]]:
    found = []
    while turns:
        found.append(turns.next_batch())
    return found


def test_what_fits_goes_in_the_order_in_which_it_came() -> None:
    items = [Item("a", 1), Item("b", 2), Item("a", 3)]
    assert batches(filled(*items)) == [items]


def test_whoever_sent_little_does_not_wait_for_whoever_sent_much() -> None:
    turns = filled(*(Item("greedy", number) for number in range(100)), Item("modest", 0))
    assert Item("modest", 0) in turns.next_batch()
    turns.add(Item("modest", 1))
    assert Item("modest", 1) in turns.next_batch()


def test_each_source_keeps_its_order_and_nothing_is_lost() -> None:
    items = [Item(source, number, number % 7) for number in range(50) for source in "abc"]
    found = [item for batch in batches(filled(*items)) for item in batch]
    for source in "abc":
        assert [item.number for item in found if item.source == source] == list(range(50))


def test_a_batch_is_cut_by_weight_and_what_is_too_heavy_goes_alone() -> None:
    turns = filled(Item("a", 1, 6), Item("a", 2, 6), Item("b", 1, 40), Item("c", 1, 1))
    found = batches(turns)
    assert all(sum(item.weight for item in batch) <= 10 or len(batch) == 1 for batch in found)
    assert {item for batch in found for item in batch} == {
        Item("a", 1, 6),
        Item("a", 2, 6),
        Item("b", 1, 40),
        Item("c", 1, 1),
    }
    assert len(turns) == 0


def test_a_batch_is_cut_by_the_messages_in_its_requests() -> None:
    turns = filled(*(Item("a", number, messages=3) for number in range(4)), Item("b", 0), Item("c", 0, messages=40))
    found = batches(turns)
    assert all(sum(item.messages for item in batch) <= 4 or len(batch) == 1 for batch in found)
    assert sum(map(len, found)) == 6
    assert [Item("a", 0, messages=3), Item("b", 0)] in found


def test_heavy_requests_come_to_their_turn_however_many_light_ones_come() -> None:
    turns = filled(*(Item("light", number, 3) for number in range(8)), Item("heavy", 0, 9))
    for number in range(3):
        if Item("heavy", 0, 9) in turns.next_batch():
            return
        turns.add(Item("light", 100 + number, 3))
    raise AssertionError("the heavy request was never taken")


def test_whoever_asks_for_little_does_not_wait_for_what_heavy_requests_bring() -> None:
    heavy = [Item("greedy", number, 300) for number in range(10)]
    turns = filled(*heavy, Item("modest", 0, 2), most=100, most_weight=512)
    assert turns.next_batch() == [Item("modest", 0, 2)]
    assert turns.next_batch() == heavy[:1]
    turns.add(Item("modest", 1, 2))
    assert turns.next_batch() == [Item("modest", 1, 2)]


def test_light_requests_do_not_keep_heavy_ones_waiting() -> None:
    heavy = [Item("greedy", number, 300) for number in range(3)]
    turns = filled(*heavy, *(Item("modest", number) for number in range(3)), most=2, most_weight=512)
    taken = []
    for number in range(3, 9):
        taken += turns.next_batch()
        turns.add(Item("modest", number))
    assert set(heavy) <= set(taken)


def test_what_the_node_must_not_be_late_with_goes_before_all_others() -> None:
    turns = filled(*(Item(source, number) for number in range(3) for source in "abc"), Item(FIRST, 0), most=1)
    assert turns.next_batch() == [Item(FIRST, 0)]
    assert [item.source for item in turns.next_batch() + turns.next_batch()] == ["a", "b"]
    turns.add(Item(FIRST, 1))
    assert turns.next_batch() == [Item(FIRST, 1)]
    assert len(turns) == 7


def test_who_sent_very_much_fills_no_batch_while_others_are_there() -> None:
    greedy = [Item("greedy", number) for number in range(2 * MOST_OF_ONE + 1)]
    turns = filled(Item("modest", 0), *greedy, most=1000)
    assert turns.next_batch() == [Item("modest", 0), *greedy[:MOST_OF_ONE]]
    turns.add(Item("modest", 1))
    turns.add(Item("greedy", 2 * MOST_OF_ONE + 1))
    second = turns.next_batch()
    assert set(second) == {Item("modest", 1), *greedy[MOST_OF_ONE : 2 * MOST_OF_ONE]}
    assert turns.next_batch() == [greedy[-1], Item("greedy", 2 * MOST_OF_ONE + 1)]


def test_who_is_alone_fills_a_batch() -> None:
    alone = [Item("alone", number) for number in range(2 * MOST_OF_ONE)]
    assert filled(*alone, most=1000).next_batch() == alone


def test_many_who_sent_as_much_as_each_other_fill_a_batch_together() -> None:
    items = [Item(f"client {client}", number) for number in range(MOST_OF_ONE) for client in range(4)]
    assert filled(*items, most=1000).next_batch() == items


def test_who_has_a_lane_to_itself_fills_no_batch_while_others_use_the_node(
    clients_here: Presence, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(presence.time, "perf_counter", lambda: 1000.0)
    clients_here.note("modest")
    clients_here.note("greedy")
    greedy = [Item("greedy", number) for number in range(2 * MOST_OF_ONE)]
    assert filled(*greedy, most=1000).next_batch() == greedy[:MOST_OF_ONE]


def test_who_is_made_to_pause_is_still_there(clients_here: Presence, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it has sent before would fill a batch otherwise, as if nobody else were there."""
    now = 1000.0
    monkeypatch.setattr(presence.time, "perf_counter", lambda: now)
    clients_here.note("greedy")
    now += MOST_REST_SECONDS
    clients_here.note("modest")
    greedy = [Item("greedy", number) for number in range(2 * MOST_OF_ONE)]
    assert filled(*greedy, most=1000).next_batch() == greedy[:MOST_OF_ONE]
