"""Readings that everybody shares."""

import threading

from console.once_per_node import once_per_node


def test_it_is_read_once_for_all_and_again_when_somebody_has_changed_something() -> None:
    readings: list[int] = []

    @once_per_node(seconds=3600)
    def read() -> int:
        readings.append(1)
        return len(readings)

    assert [read(), read()] == [1, 1]
    read.forget()  # type: ignore[attr-defined]
    assert read() == 2


def test_who_comes_meanwhile_waits_for_the_one_reading() -> None:
    begun, go_on = threading.Event(), threading.Event()
    readings: list[int] = []

    @once_per_node(seconds=3600)
    def read() -> int:
        begun.set()
        go_on.wait()
        readings.append(1)
        return len(readings)

    got: list[int] = []
    threads = [threading.Thread(target=lambda: got.append(read())) for _ in range(5)]
    for thread in threads:
        thread.start()
    begun.wait()
    go_on.set()
    for thread in threads:
        thread.join()
    assert got == [1] * 5
