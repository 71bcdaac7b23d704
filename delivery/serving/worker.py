"""One connection as a worker: its handshake, its heartbeat and the requests that it is sent.

checkconfig -> config -> ready -> readyok, then requests. forcenegotiate leads back to checkconfig from anywhere.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from django.conf import settings

from delivery.engine.assignment import MISSED_HEARTBEATS, LeaveRequest
from delivery.moves.service_names import is_service_queue, request_identifier, service_of
from delivery.protocol.close_codes import WORKER_IS_DISMISSED
from delivery.protocol.errors import WillowError
from delivery.protocol.fields import ConfigType
from delivery.protocol.frames import Config, DisconnectError, ForceNegotiate, ServerPing, WorkRequestOut
from delivery.protocol.service_commands import CheckConfig
from delivery.sessions.session import Session

MOST_REFUSALS = 3  # of a configuration that is not current

BAD_CLOCK = 400
CONFIG_TOO_OLD = 426
UNKNOWN_COMMAND = 501
BROKER_STOPS = 503


class Worker:
    def __init__(self, session: Session) -> None:
        self.session = session
        self.identity = ""
        self.services: tuple[str, ...] = ()  # those of its last checkconfig
        self.config_type: ConfigType = "JSON"
        self.config_version = ""  # what is current for its services, as far as this node knows
        self.queue_ids: frozenset[int] = frozenset()  # of the services that it is ready for
        self.in_line = False  # it said `ready`, and has been heard of since
        self.heartbeat_interval = 0.0  # seconds
        self.dismissed = False
        self._negotiating = False
        self._afterwards: list[Callable[[], None]] = []
        self._refusals = 0
        self._pinged = 0.0  # of the monotonic clock

    @property
    def client_name(self) -> str:
        return self.session.client_name or self.identity

    @property
    def negotiated(self) -> bool:
        return bool(self.config_version)

    # the handshake

    def begin_negotiation(self, command: CheckConfig) -> None:
        self._negotiating = True
        self.identity = command.identity
        self.services = tuple(sorted(set(command.services)))
        self.config_type = command.config_type

    def end_negotiation(self) -> None:
        self._negotiating = False
        waiting, self._afterwards = self._afterwards, []
        for action in waiting:
            self.then(action)

    def then(self, action: Callable[[], None]) -> None:
        """Run now, or after the checkconfig that is under way: commands of a worker keep their order."""
        if self._negotiating:
            self._afterwards.append(action)
        else:
            action()

    def send_config(self, version: str, text: str | None) -> None:
        self.config_version = version
        self.session.send(Config(self.config_type, version, text))

    def accepts(self, config_version: str) -> bool:
        """Whether the worker runs on what is current; if not, it is told to negotiate again, or goes."""
        if self.negotiated and config_version == self.config_version:
            self._refusals = 0
            return True
        self.refuse()
        return False

    def refuse(self) -> None:
        self._refusals += 1
        if self._refusals > MOST_REFUSALS:
            self.dismiss(CONFIG_TOO_OLD, f"Your configuration is not current, and you were told {MOST_REFUSALS} times.")
        else:
            self.session.send(ForceNegotiate())

    def joined(self, heartbeat_interval: float, queue_ids: Iterable[int]) -> None:
        """It stands in the line. Requests that it has held since before this connection are sent again."""
        self.heartbeat_interval = heartbeat_interval
        self.queue_ids = frozenset(queue_ids)
        if not self.in_line:
            self.in_line = True
            self.session.node.engine.assignment.look_soon()

    def dismiss(self, code: int, message: str) -> None:
        dismiss(self.session, code, message)

    def step_aside(self) -> None:
        """It is dismissed: it is given nothing more while its socket closes, and then loses what it holds."""
        self.dismissed = True
        self.in_line = False
        self._leave(lambda queue_id: False, lambda rows: None)

    # requests

    def take(self, request: Any) -> None:
        """Send a request that this worker holds, unless it was sent over this connection already."""
        session = self.session
        if session.closed or not session.claims.take_request(request):
            return
        session.send(
            WorkRequestOut(
                request_identifier(request),
                service_of(session.node.directory.name_of(request.queue_id)),
                request.body,
                time.time(),
                self.config_version,
                request.work_timeout,
            )
        )

    # heartbeat and end

    def look_after(self) -> None:
        """Called with each heartbeat of the node: ping a silent worker, give up one that was silent for too long."""
        now = time.monotonic()
        silent = now - self.session.last_heard
        if silent > MISSED_HEARTBEATS * self.heartbeat_interval:
            self.fall_out()
        elif silent > self.heartbeat_interval and now - self._pinged > self.heartbeat_interval:
            self._pinged = now
            self.session.send(ServerPing(time.time(), self.config_version))

    def fall_out(self) -> None:
        """Its requests go to the next worker. If it is alive after all, it starts again with checkconfig."""
        self.in_line = False
        self.config_version = ""
        directory = self.session.node.directory
        self._leave(lambda queue_id: is_service_queue(directory.name_of(queue_id)), self._lost)
        self.session.send(ForceNegotiate())

    def leave(self, *, keeps_claims: bool) -> None:
        """The connection has ended. The worker may hold more than it knows: a request may be on its way to it."""
        self._leave(lambda queue_id: not keeps_claims, lambda rows: None)

    def _leave(self, loses: Callable[[int], bool], lost: Callable[[Sequence[Any]], None]) -> None:
        self.session.node.engine.claims.submit(
            LeaveRequest(self.session.session_id, self.client_name, loses=loses, lost=lost, failed=self._not_left)
        )

    def _not_left(self, error: WillowError) -> None:
        """The database is gone. It is told of a session that ended when it is back; the reaper finds a silent one."""
        if self.session.closed and not self.session.hold_seconds:
            self.session.node.sessions.end_later(self.session.session_id)

    def _lost(self, rows: Sequence[Any]) -> None:
        for row in rows:
            self.session.claims.let_go((row.queue_id, row.sequence), row.index)


def worker_of(session: Session) -> Worker | None:
    return session.role if isinstance(session.role, Worker) else None


def become_worker(session: Session) -> Worker:
    """From its first word as one on, a session is a worker."""
    worker = worker_of(session)
    if worker is None:
        worker = Worker(session)
        session.take_role(worker)
    return worker


def dismiss(session: Session, code: int, message: str) -> None:
    """Say why, then close the socket."""
    if (worker := worker_of(session)) is not None:
        worker.step_aside()
    session.send(DisconnectError(code, message))
    session.kick(WORKER_IS_DISMISSED, message[:100])


def has_good_clock(session: Session, unix_seconds: float) -> bool:
    """Whether a client's clock agrees with this node's; otherwise the client is disconnected."""
    most = settings.WILLOW.max_clock_skew
    skew = unix_seconds - time.time()
    if abs(skew) <= most:
        return True
    dismiss(session, BAD_CLOCK, f"Your clock is off by {skew:.1f} seconds; at most {most:g} are allowed.")
    return False
