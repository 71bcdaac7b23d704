"""The processes in which the clients of a run live."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from faults.crowd import Crowd
from faults.history import APART, Clock
from faults.willow.clocks import with_clock

# Those who take messages are in two processes: when one stands still or dies, the other goes on.
CONSUMERS = ("consumers", "rivals")
CLOCKED = ("posters", *CONSUMERS, "readers", "services")  # their clocks can be set


@dataclass(frozen=True)
class Terms:
    """What holds for all processes of a run."""

    urls: list[str]
    seed: int
    rate: float
    bulk_queues: list[str]
    bulk_rate: float


class WillowCrowd(Crowd):
    program = "faults.willow.load"

    def __init__(self, terms: Terms, folder: Path, clock: Clock) -> None:
        super().__init__(folder, clock)
        self._terms = terms
        self._posting_over = folder / "posting-over"

    def order(self, role: str) -> dict[str, Any]:
        return {"posting_over": str(self._posting_over), **asdict(self._terms)}

    def environ(self, role: str) -> dict[str, str]:
        return with_clock(self.clock_file(role)) if role in CLOCKED else {}

    def start_all(self) -> None:
        for role in ("readers", "services", *CONSUMERS, "posters", "bulk"):
            self.start(role, "reader" if role == "readers" else None)
        self.wait_until_begun()

    def clock_file(self, role: str) -> Path:
        return self.folder / f"{role}.clock"

    def post_no_more(self) -> None:
        self.stop("posters")
        self._posting_over.touch()

    def stop_all(self) -> None:
        for role in ("services", "bulk", *CONSUMERS, "readers"):
            self.stop(role)

    def histories_of(self, bulk_queue: str | None) -> list[Path]:
        """What is about one of the bulk queues, with the connections of its clients; or everything else."""
        of_all = [file for file in self.histories() if APART not in file.name]
        if bulk_queue is None:
            return of_all
        apart = sorted(self.folder.glob(f"*{APART}{bulk_queue}.jsonl"))
        return [*apart, *(file for file in of_all if file.name.startswith(("bulk-", "crowd.")))]
