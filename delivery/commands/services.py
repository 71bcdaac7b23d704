"""Request and reply: what workers, frontends and those in search of a broker say."""

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from clients.models import Permission
from delivery.commands.post import submit_post
from delivery.engine.assignment import Candidate, JoinRequest
from delivery.moves.endings import FinishRequest
from delivery.moves.service_names import queue_of, request_numbers, stream_is_no_service
from delivery.protocol.errors import Code, WillowError
from delivery.protocol.frames import (
    CheckConfig,
    ClientPong,
    ForceNegotiate,
    NeedBroker,
    Ping,
    Pong,
    Post,
    Ready,
    ReadyOk,
    WorkReply,
    WorkRequest,
)
from delivery.serving.worker import Worker, has_good_clock
from delivery.serving.workers import begin_work
from queues.definitions import QueueRecord

if TYPE_CHECKING:
    from delivery.sessions.session import Session


def check_config(session: "Session", command: CheckConfig) -> None:
    for service in command.services:
        session.require(Permission.SERVE, service)
        queue_of(service, field="services")  # refuses a name that is too long
    worker = begin_work(session, command)
    session.node.workers.negotiate(worker, command.config_version)


def ready(session: "Session", command: Ready) -> None:
    for service in command.services:
        session.require(Permission.SERVE, service)
    if session.worker is None:
        session.worker = Worker(session)
    worker = session.worker
    worker.then(lambda: _join_line(worker, command))


def _join_line(worker: Worker, command: Ready) -> None:
    session = worker.session
    if worker.dismissed or not has_good_clock(session, command.time):
        return
    if session.node.draining:
        session.node.workers.name_broker(session)
        return
    if not set(command.services) <= set(worker.services):
        worker.refuse()
    elif worker.accepts(command.config_version):
        _find_and_join(worker, command)


def _find_and_join(worker: Worker, command: Ready) -> None:
    """Find the queues of the services, then take a place in the line."""
    session = worker.session
    services = sorted(set(command.services))
    session.began()

    def refused(error: WillowError) -> None:
        session.ended()
        session.refuse(None, error)

    def found(queues: Sequence[QueueRecord]) -> None:
        if streams := [queue.name for queue in queues if queue.is_stream]:
            refused(stream_is_no_service(streams[0], field="services"))
        else:
            _take_place(worker, command, services, queues, refused)

    session.node.directory.find_each([queue_of(service) for service in services], (), found, refused)


def _take_place(
    worker: Worker,
    command: Ready,
    services: Sequence[str],
    queues: Sequence[QueueRecord],
    refused: Callable[[WillowError], None],
) -> None:
    session = worker.session
    queue_ids = [queue.id for queue in queues]

    def answer(error: WillowError | None) -> None:
        if error is not None:
            refused(error)
            return
        session.ended()
        if worker.dismissed:
            return
        worker.joined(command.heartbeat_interval, queue_ids)
        session.send(ReadyOk(time.time(), worker.config_version))

    candidate = Candidate(
        session_id=session.session_id,
        identity=worker.identity,
        services=services,
        queue_ids=queue_ids,
        slots=command.slots,
        heartbeat_interval=command.heartbeat_interval,
        config_type=worker.config_type,
        config_version=command.config_version,
    )
    session.node.engine.turns.submit(JoinRequest(candidate, lambda: session.closed or worker.dismissed, answer))


def ping(session: "Session", command: Ping) -> None:
    if not has_good_clock(session, command.time):
        return
    worker = session.worker
    if worker is None:
        session.send(Pong(time.time(), ""))
        return
    worker.then(lambda: _pong(worker, command))


def _pong(worker: Worker, command: Ping) -> None:
    worker.session.send(Pong(time.time(), worker.config_version))
    _check_version(worker, command)


def pong(session: "Session", command: ClientPong) -> None:
    """Like a ping, but for the answer: a worker may answer the broker's ping by either."""
    worker = session.worker
    if has_good_clock(session, command.time) and worker is not None:
        worker.then(lambda: _check_version(worker, command))


def _check_version(worker: Worker, command: Ping) -> None:
    if worker.negotiated:
        worker.accepts(command.config_version)
    else:
        worker.session.send(ForceNegotiate())


def work_request(session: "Session", command: WorkRequest) -> None:
    """A request is a post to the service's queue, whose poster is told how it ends by a reply or an error."""
    session.require(Permission.REQUEST, command.service)
    post = Post(
        queues=(queue_of(command.service),),
        message=command.body,
        label=command.label,
        notify=frozenset(("finish", "drop")),
    )
    submit_post(session, post, (), awaits_reply=True, work_timeout=command.timeout)


def work_reply(session: "Session", command: WorkReply) -> None:
    """Finish the request. One that this worker does not hold, or that nobody knows, is dropped quietly."""
    if not has_good_clock(session, command.time):
        return
    numbers = request_numbers(command.work_request_identifier)
    if numbers is None:
        return
    queue_id, sequence, index = numbers
    session.began()

    def answer(error: WillowError | None) -> None:
        session.ended()
        if error is not None and error.code == Code.UNAVAILABLE:
            session.refuse(None, error)
        else:
            session.let_go((queue_id, sequence), index)

    session.node.engine.end(
        FinishRequest(
            queue_id=queue_id,
            sequence=sequence,
            index=index,
            holder=session.session_id,
            client=session.worker.client_name if session.worker else session.client_name,
            reply=command.body,
            answer=answer,
        )
    )


def need_broker(session: "Session", command: NeedBroker) -> None:
    session.node.workers.name_broker(session)
