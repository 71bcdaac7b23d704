"""Work in progress: which client works on what, and since when."""

from dataclasses import dataclass
from datetime import datetime

from delivery.figures.database import rows_of

LOOKED_AT = 1_000  # claims of each queue
MOST_SHOWN = 200
SIGN_TOLERANCE = 0.5  # seconds by which a claim's own lease may begin after its assignment


@dataclass(frozen=True, slots=True)
class Work:
    queue_id: int
    queue_name: str
    queue_tags: list[str]
    index: int
    attempts: int
    session_id: int
    client_id: int | None
    client: str | None
    address: str | None
    node: str | None
    assigned_at: datetime
    lease_until: datetime | None
    work_timeout: float | None
    sign_at: datetime | None  # when its lease last began again

    @property
    def kept_alive_at(self) -> datetime | None:
        """When the last keepalive came; None: there was none since it was handed out."""
        if self.sign_at is None or (self.sign_at - self.assigned_at).total_seconds() < SIGN_TOLERANCE:
            return None
        return self.sign_at


def work_in_progress(*, queue: str | None = None) -> list[Work]:
    """The longest first; of one queue's name, or of all."""
    values = {"name": queue, "looked_at": LOOKED_AT, "most": MOST_SHOWN}
    return [Work(**row) for row in rows_of("work_in_progress", values)]
