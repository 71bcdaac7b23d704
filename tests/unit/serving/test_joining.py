"""In which order workers that say `ready` at the same time join the line."""

from delivery.engine.assignment import Candidate, in_order_of_last_word


def candidate(session_id: int, slots: int) -> Candidate:
    return Candidate(
        session_id=session_id,
        identity="worker",
        services=["resize"],
        queue_ids=[1],
        slots=slots,
        heartbeat_interval=5.0,
        config_type="JSON",
        config_version="1",
    )


def test_a_second_ready_puts_a_worker_behind_those_who_came_between() -> None:
    first, other, again = candidate(1, slots=1), candidate(2, slots=1), candidate(1, slots=3)
    assert in_order_of_last_word([first, other, again]) == [other, again]
