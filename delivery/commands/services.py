"""Request and reply: the commands of workers, of frontends, and of clients that look for a broker."""

import time
from collections.abc import Sequence
from typing import Any

from clients.models import Permission
from delivery.commands.post import submit_post
from delivery.engine.assignment import Candidate, JoinRequest
from delivery.moves.endings import FailRequest, FinishRequest
from delivery.moves.service_names import queue_of, request_numbers, stream_is_no_service
from delivery.moves.states import Reason
from delivery.protocol.commands import Post
from delivery.protocol.errors import Code, WillowError
from delivery.protocol.frames import ForceNegotiate, Pong, ReadyOk
from delivery.protocol.service_commands import (
    CheckConfig,
    ClientPong,
    NeedBroker,
    Ping,
    Ready,
    WorkError,
    WorkReply,
    WorkRequest,
)
from delivery.serving.worker import Worker, become_worker, has_good_clock, worker_of
from delivery.serving.workers import Workers
from delivery.sessions.session import Session
from delivery.sessions.under_way import Reply
from queues.definitions import QueueRecord


class ServiceCommands:
    """Those that need to know the workers of the node."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers

    def check_config(self, session: Session, command: CheckConfig) -> None:
        for service in command.services:
            session.require(Permission.SERVE, service)
            queue_of(service, field="services")  # refuses a name that is too long
        self._workers.negotiate(session, command)

    def ready(self, session: Session, command: Ready) -> None:
        for service in command.services:
            session.require(Permission.SERVE, service)
        worker = become_worker(session)
        worker.then(lambda: self._join_line(worker, command))

    def _join_line(self, worker: Worker, command: Ready) -> None:
        session = worker.session
        if worker.dismissed or not has_good_clock(session, command.time):
            return
        if session.node.draining:
            self._workers.name_broker(session)
        elif not set(command.services) <= set(worker.services):
            worker.refuse()
        elif worker.accepts(command.config_version):
            _find_and_join(worker, command)

    def need_broker(self, session: Session, command: NeedBroker) -> None:
        self._workers.name_broker(session)


def _find_and_join(worker: Worker, command: Ready) -> None:
    """Find the queues of the services, then join the line."""
    services = sorted(set(command.services))
    reply = worker.session.reply_to(None)

    def found(queues: Sequence[QueueRecord]) -> None:
        if streams := [queue.name for queue in queues if queue.is_stream]:
            reply.refuse(stream_is_no_service(streams[0], field="services"))
        else:
            _join(worker, command, services, queues, reply)

    worker.session.node.directory.find_each(
        [queue_of(service) for service in services], (), found, reply.refuse, by=worker.session.definer
    )


def _join(worker: Worker, command: Ready, services: Sequence[str], queues: Sequence[QueueRecord], reply: Reply) -> None:
    session = worker.session
    queue_ids = [queue.id for queue in queues]

    def answer(error: WillowError | None) -> None:
        if error is not None:
            reply.refuse(error)
        elif worker.dismissed:
            reply.end()
        else:
            worker.joined(command.heartbeat_interval, queue_ids)
            reply.send(ReadyOk(time.time(), worker.config_version))

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
    session.node.engine.claims.submit(JoinRequest(candidate, lambda: session.closed or worker.dismissed, answer))


def ping(session: Session, command: Ping) -> None:
    if not has_good_clock(session, command.time):
        return
    worker = worker_of(session)
    if worker is None:
        session.send(Pong(time.time(), ""))
        return
    worker.then(lambda: _pong(worker, command))


def _pong(worker: Worker, command: Ping) -> None:
    worker.session.send(Pong(time.time(), worker.config_version))
    _check_version(worker, command)


def pong(session: Session, command: ClientPong) -> None:
    """Like a ping, but without an answer: a worker may answer the broker's ping by either."""
    worker = worker_of(session)
    if has_good_clock(session, command.time) and worker is not None:
        worker.then(lambda: _check_version(worker, command))


def _check_version(worker: Worker, command: Ping) -> None:
    if worker.negotiated:
        worker.accepts(command.config_version)
    else:
        worker.session.send(ForceNegotiate())


def work_request(session: Session, command: WorkRequest) -> None:
    """A request is a post to the service's queue, whose poster is told how it ends by a reply or an error."""
    session.require(Permission.REQUEST, command.service)
    post = Post(
        queues=(queue_of(command.service),),
        message=command.body,
        label=command.label,
        notify=frozenset(("finish", "drop")),
        ttl=command.timeout,
    )
    submit_post(session, post, (), awaits_reply=True, work_timeout=command.timeout)


def work_reply(session: Session, command: WorkReply) -> None:
    """Finish the request. One that this worker does not hold, or that nobody knows, is dropped quietly."""
    if (claim := _claim_of_request(session, command)) is not None:
        session.node.engine.end(FinishRequest(**claim, reply=command.body))


def work_error(session: Session, command: WorkError) -> None:
    """Fail the request: for good, or for the next worker. One that this worker does not hold is dropped quietly."""
    if (claim := _claim_of_request(session, command)) is not None:
        failure = FailRequest(**claim, reason=Reason.FAILED.value, error=command.error, final=command.final)
        session.node.engine.end(failure)


def _claim_of_request(session: Session, command: WorkReply | WorkError) -> dict[str, Any] | None:
    """Which claim a worker ends; None if its clock is wrong, or the identifier cannot be one of ours."""
    if not has_good_clock(session, command.time):
        return None
    numbers = request_numbers(command.work_request_identifier)
    if numbers is None:
        return None
    queue_id, sequence, index = numbers
    worker = worker_of(session)
    reply = session.reply_to(None, command.body if isinstance(command, WorkReply) else None)

    def answer(error: WillowError | None) -> None:
        if error is not None and error.code == Code.UNAVAILABLE:
            reply.refuse(error)
        else:
            reply.end()
            session.claims.let_go((queue_id, sequence), index)

    return {
        "queue_id": queue_id,
        "sequence": sequence,
        "index": index,
        "holder": session.session_id,
        "client": worker.client_name if worker else session.client_name,
        "answer": answer,
    }
