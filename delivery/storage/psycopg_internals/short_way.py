"""A connection for statements that run over and over: prepared once, sent and awaited with as little as possible.

psycopg's cursors look at every statement anew (its text, the types of its parameters, its place in a cache), and its
waiting gives the socket to the event loop and takes it back each time. With short statements that costs more than all
else about them, so this connection keeps what it has prepared and leaves its socket with the loop.
"""

import asyncio
import re
import select
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import asynccontextmanager
from operator import attrgetter
from types import NoneType
from typing import Any, NamedTuple, TypeVar

from psycopg import errors, generators
from psycopg.adapt import PyFormat, Transformer
from psycopg.pq import ConnStatus, ExecStatus, Format, TransactionStatus
from psycopg.pq.abc import PGconn, PGresult
from psycopg.waiting import Ready, Wait

from delivery.storage.columns import COLUMNS
from delivery.storage.statement_connection import Row, Statement, StatementConnection, check_columns

Result = TypeVar("Result")
Steps = Generator[Any, Any, Result]  # psycopg's way to say what the socket is waited for

# What nearly all parameters are, without psycopg's search for who dumps them.
_dump: dict[type, Callable[[Any], bytes | None]] = {
    NoneType: lambda value: None,
    int: lambda value: b"%d" % value,
    str: str.encode,
    bytes: lambda value: value,
    **dict.fromkeys(COLUMNS, attrgetter("packed")),
}
_IN_BINARY = frozenset({bytes, *COLUMNS})
_PARAMETER = re.compile(r"%\((\w+)\)[sb]")
LOOK_SECONDS = 0.1  # psycopg's own default
CANCEL_SECONDS = 5.0  # likewise


class Prepared:
    """A statement that the server knows by name. `parameters` are in the order of its numbers."""

    def __init__(self, name: bytes, parameters: Sequence[str]) -> None:
        self.name = name
        self.parameters = parameters
        self.row_type: type[NamedTuple] | None = None  # once a result was seen to have its columns


class ShortWayConnection(StatementConnection):
    """Beside `rows` and `rows_of_all`, which go the short way, everything that psycopg does."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._known: dict[str, Prepared] = {}
        self._names_given = 0  # a name is never used again: the server may still know it
        self._transformer = Transformer(self)
        self._readable: asyncio.Future[None] | None = None
        self._watched: int | None = None  # the socket, while the loop keeps it

    async def rows(self, query: str, values: Mapping[str, Any], row_type: type[Row]) -> list[Row]:
        """The rows of a statement, whose columns are the fields of `row_type`."""
        return await self._again_if_forgotten(lambda: self._run(query, values, row_type))

    async def rows_of_all(self, statements: Sequence[Statement]) -> list[list[Any]]:
        """The rows of statements that make up a transaction, sent in one go: the server begins it with the first, and
        commits it after the last. As ever, each statement sees what was committed when it began."""
        return await self._again_if_forgotten(lambda: self._run_all(statements))

    async def _again_if_forgotten(self, run: Callable[[], Awaitable[Result]]) -> Result:
        try:
            return await run()
        except errors.InvalidSqlStatementName:
            self.forget_prepared()
            if self.pgconn.transaction_status != TransactionStatus.IDLE:
                raise  # the transaction is lost with it; whoever began it can begin it again
            return await run()

    def forget_prepared(self) -> None:
        """The server has lost prepared statements: ours and psycopg's are prepared again when they are needed."""
        self._known.clear()
        self._prepared.clear()

    def _deallocate(self, name: bytes | None) -> Steps[None]:
        """psycopg drops whatever is prepared after a rollback, ours too."""
        if name is None:
            self._known.clear()
        return super()._deallocate(name)

    @asynccontextmanager
    async def short_transaction(self, first: str = "") -> AsyncIterator[None]:
        """In one message with the BEGIN. What is prepared stays, also after a rollback."""
        await self._command(f"BEGIN; {first}".encode())
        try:
            yield
        except BaseException:
            if not self.closed:
                await self._command(b"ROLLBACK")
            raise
        await self._command(b"COMMIT")

    @asynccontextmanager
    async def rehearsal(self) -> AsyncIterator[None]:
        """A transaction of which nothing stays. What is prepared stays, unlike after a rollback by psycopg."""
        await self._command(b"BEGIN")
        try:
            yield
        finally:
            if not self.closed:
                await self._command(b"ROLLBACK")

    async def _command(self, command: bytes) -> None:
        self.pgconn.send_query(command)
        await self._result(ExecStatus.COMMAND_OK, ExecStatus.TUPLES_OK)

    async def _run(self, query: str, values: Mapping[str, Any], row_type: type[Row]) -> list[Row]:
        prepared = self._known.get(query) or await self._prepare(query)
        if self.sends_much:
            await self._send_in_thread(prepared, values)
        else:
            self._send(prepared, values)
        return self._loaded(await self._result(ExecStatus.TUPLES_OK), prepared, row_type)

    async def _run_all(self, statements: Sequence[Statement]) -> list[list[Any]]:
        prepared = [self._known.get(one.query) or await self._prepare(one.query) for one in statements]
        self.pgconn.enter_pipeline_mode()
        try:
            for known, one in zip(prepared, statements, strict=True):
                self._send(known, one.values)
            self.pgconn.pipeline_sync()
            results = await self.wait(_until_in_step(self.pgconn))
        finally:
            self._leave_pipeline_mode()
        for result in results:
            if result.status != ExecStatus.TUPLES_OK:
                raise errors.error_from_result(result)
        return [
            self._loaded(result, known, one.row_type)
            for result, known, one in zip(results, prepared, statements, strict=True)
        ]

    def _leave_pipeline_mode(self) -> None:
        if self.pgconn.status == ConnStatus.OK:
            try:
                self.pgconn.exit_pipeline_mode()
            except errors.Error:  # answers are still to come, and nobody will read them
                self._unwatch()
                self.pgconn.finish()

    def _send(self, prepared: Prepared, values: Mapping[str, Any]) -> None:
        dumped, formats = [], []
        for name in prepared.parameters:
            value = values[name]
            kind = type(value)
            dumped.append(_dump[kind](value) if kind in _dump else self._dumped(value))
            formats.append(Format.BINARY if kind in _IN_BINARY else Format.TEXT)
        self.pgconn.send_query_prepared(prepared.name, dumped, formats, Format.BINARY)

    async def _send_in_thread(self, prepared: Prepared, values: Mapping[str, Any]) -> None:
        """Neither packing megabytes nor giving them to the system needs the interpreter."""
        sending = asyncio.ensure_future(asyncio.to_thread(self._send, prepared, values))
        try:
            await asyncio.shield(sending)
        except asyncio.CancelledError:  # nobody may close the connection meanwhile
            await asyncio.wait({sending})
            raise

    def _loaded(self, result: PGresult, prepared: Prepared, row_type: type[Row]) -> list[Row]:
        if prepared.row_type is not row_type:
            check_columns(_names(result), row_type)
            prepared.row_type = row_type
        self._transformer.set_pgresult(result, set_loaders=True, format=Format.BINARY)
        return self._transformer.load_rows(0, result.ntuples, row_type._make)

    def _dumped(self, value: Any) -> Any:
        return self._transformer.get_dumper(value, PyFormat.TEXT).dump(value)

    async def _prepare(self, query: str) -> Prepared:
        names = list(dict.fromkeys(_PARAMETER.findall(query)))
        numbered = _PARAMETER.sub(lambda found: f"${names.index(found[1]) + 1}", query).replace("%%", "%")
        prepared = Prepared(f"willow_{self._names_given}".encode(), names)
        self._names_given += 1
        self.pgconn.send_prepare(prepared.name, numbered.encode())
        await self._result(ExecStatus.COMMAND_OK)
        self._known[query] = prepared
        return prepared

    async def _result(self, *wanted: ExecStatus) -> PGresult:
        results = await self.wait(generators.execute(self.pgconn))
        if results[-1].status not in wanted:
            raise errors.error_from_result(results[-1])
        return results[-1]

    # waiting

    async def wait(
        self,
        gen: Steps[Result],
        interval: float = LOOK_SECONDS,
        timeout: float | None = None,  # noqa: ASYNC109 -- psycopg's signature
    ) -> Result:
        """As psycopg does it, but while only an answer is waited for, the loop keeps the socket."""
        try:
            wanted = next(gen)
            while wanted == Wait.R and timeout is None:
                await self._until_readable()
                wanted = gen.send(Ready.R)
        except StopIteration as end:
            result: Result = end.value
            return result
        except asyncio.CancelledError:
            await self._call_off(gen)
            raise
        except errors.InvalidSqlStatementName:  # of one of psycopg's own
            self.forget_prepared()
            raise
        finally:
            if self.pgconn.status == ConnStatus.BAD:  # libpq has closed the socket, and its number may be used again
                self._unwatch()
        self._unwatch()
        return await super().wait(_continued(gen, wanted), interval, timeout)

    async def _call_off(self, gen: Steps[Any]) -> None:
        """End a statement that nobody waits for any more, as psycopg does, so that the next one can be sent."""
        self._unwatch()
        if self.pgconn.transaction_status != TransactionStatus.ACTIVE:
            return
        try:
            await self.cancel_safe(timeout=CANCEL_SECONDS)
            await super().wait(_continued(gen, Wait.R), timeout=CANCEL_SECONDS)
        except errors.QueryCanceled:
            pass
        except errors.Error:  # who knows in what state it is
            self.pgconn.finish()

    async def _until_readable(self) -> None:
        loop = asyncio.get_running_loop()
        if self._watched is None:
            self._watched = self.pgconn.socket
            loop.add_reader(self._watched, self._became_readable)
        self._readable = loop.create_future()
        # uvloop stops watching a socket that was reset, and says so to nobody.
        timer = loop.call_later(LOOK_SECONDS, self._look_anyway)
        try:
            await self._readable
        finally:
            timer.cancel()
            self._readable = None

    def _became_readable(self) -> None:
        if self._readable is None:
            if self._has_something_to_read():  # unasked: the server closes the connection, or sends a notice
                self._unwatch()
                if self.stirred is not None:
                    self.stirred()
        elif not self._readable.done():
            self._readable.set_result(None)

    def _has_something_to_read(self) -> bool:
        """asyncio's own loop may report once more what was read since."""
        if self._watched is None:
            return False
        look = select.poll()
        look.register(self._watched, select.POLLIN)
        return bool(look.poll(0))

    def _look_anyway(self) -> None:
        self._unwatch()
        self._became_readable()

    def _unwatch(self) -> None:
        if self._watched is not None:
            asyncio.get_running_loop().remove_reader(self._watched)
            self._watched = None

    async def close(self) -> None:
        self._unwatch()
        await super().close()


def _until_in_step(pgconn: PGconn) -> Steps[list[PGresult]]:
    """A result of each statement that was sent in one go. After one that fails, those of the others say nothing."""
    results = []
    answers = yield from generators.execute(pgconn)
    while answers[-1].status != ExecStatus.PIPELINE_SYNC:
        results.append(answers[-1])
        answers = yield from generators.fetch_many(pgconn)
    return results


def _continued(gen: Steps[Result], wanted: Any) -> Steps[Result]:
    """Steps of which the first has been taken, for somebody who begins with `next`."""
    try:
        while True:
            wanted = gen.send((yield wanted))
    except StopIteration as end:
        result: Result = end.value
        return result


def _names(result: PGresult) -> tuple[str, ...]:
    return tuple((result.fname(position) or b"").decode() for position in range(result.nfields))
