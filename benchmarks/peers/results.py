"""What one round on one peer gave, and the tables that show the medians over rounds."""

from collections.abc import Mapping, Sequence
from statistics import median
from types import ModuleType
from typing import Any

POST, POST_MANY, TAKE, TAKE_MANY, BOTH = (
    "post one by one",
    "posts in 100s",
    "take + finish one by one",
    "take + finish in 100s",
    "both at once",
)
STEADY = "at 500/s"
NONE = "-"  # the peer has nothing of the kind
COLUMNS = (POST, POST_MANY, TAKE, TAKE_MANY, BOTH)

Results = Mapping[str, Any]  # a `Work` by column, where the peer has it, and a `Pace` for `STEADY`
Found = Mapping[ModuleType, Sequence[Results]]


def values(rounds: Sequence[Results], column: str, what: str) -> list[float]:
    """Of one column in each round; none if the peer does not have it."""
    return [getattr(results[column], what) for results in rounds if column in results]


def print_results(found: Found) -> None:
    for title, what in (
        ("messages/s", "per_second"),
        ("server's processor time, µs a message", "server"),
        ("clients' processor time, µs a message", "clients"),
    ):
        print(f"\n{title:38}" + "".join(f"{column:>26}" for column in COLUMNS))
        for peer, rounds in found.items():
            cells = "".join(f"{_number(values(rounds, column, what)):>26}" for column in COLUMNS)
            print(f"{peer.NAME:38}{cells}")
    print(f"\n{'post to receive at 500/s':38}{'p50 ms':>10}{'p99 ms':>10}{'server cores':>14}{'client cores':>14}")
    for peer, rounds in found.items():
        p50, p99, server, clients = (
            median(values(rounds, STEADY, what)) for what in ("p50", "p99", "server_cores", "client_cores")
        )
        print(f"{peer.NAME:38}{p50:>10.2f}{p99:>10.2f}{server:>14.2f}{clients:>14.2f}   {peer.CONFIRM}")
    print(flush=True)


def _number(measured: Sequence[float]) -> str:
    return f"{median(measured):,.0f}" if measured else NONE
