"""The processes of a node: prepared, started, watched and stopped."""

import asyncio
import signal
import sys
from collections.abc import Mapping

from willow_site.configuration import Configuration
from willow_site.launcher.errors import LauncherError
from willow_site.launcher.homes import Home
from willow_site.launcher.readiness import answers, browser_url, http_url
from willow_site.launcher.servers import Servers
from willow_site.launcher.supervision import SupervisedProcess
from willow_site.processes import ends_with_parent
from willow_site.project_folder import PROJECT_FOLDER

PROBE_PAUSE = 0.05  # seconds
WATCH_PAUSE = 1.0  # seconds
FAILURES_BEFORE_READY = 3  # a broker that cannot start at all should say so, not try for ever
DRAIN_GRACE = 10  # seconds beyond the drain time
REAPER_PATIENCE = 10  # seconds


class Node:
    """Broker processes and a reaper on top of servers that run already."""

    def __init__(
        self,
        configuration: Configuration,
        home: Home,
        servers: Servers,
        environ: Mapping[str, str],
        *,
        with_reaper: bool,
    ) -> None:
        self._configuration = configuration
        self._home = home
        self._servers = servers
        self._environ = dict(environ)
        self._with_reaper = with_reaper
        self._brokers: list[SupervisedProcess] = []
        self._reapers: list[SupervisedProcess] = []

    def run(self) -> None:
        """Run until a signal."""
        asyncio.run(self._run())

    async def _run(self) -> None:
        told_to_stop = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(number, told_to_stop.set)
        if self._configuration.tls_certificate:
            asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self._reload_certificates)
        life = asyncio.create_task(self._live())
        stop = asyncio.create_task(told_to_stop.wait())
        await asyncio.wait((life, stop), return_when=asyncio.FIRST_COMPLETED)
        if told_to_stop.is_set():
            print("Willow is stopping.", flush=True)
        life.cancel()
        await asyncio.gather(life, return_exceptions=True)
        await self._stop_processes()
        if not told_to_stop.is_set():
            life.result()  # raises what ended it

    async def _live(self) -> None:
        await self._prepare()
        print("Starting the broker.", flush=True)
        self._start_processes()
        await self._wait_until_ready()
        self._announce()
        await self._watch_servers()

    async def _prepare(self) -> None:
        process = await asyncio.create_subprocess_exec(
            *self._manage("prepare"),
            env=self._environ,
            cwd=PROJECT_FOLDER,
            start_new_session=True,
            preexec_fn=ends_with_parent(signal.SIGTERM),
        )
        try:
            if await process.wait() != 0:
                raise LauncherError("Willow could not prepare its database; see the reason above.")
        except asyncio.CancelledError:
            process.terminate()
            await process.wait()
            raise

    def _start_processes(self) -> None:
        for number in range(self._configuration.processes):
            environ = {**self._environ, "WILLOW_PROCESS_NUMBER": str(number)}
            self._brokers.append(self._supervised(f"broker {number}", "serve", environ))
        if self._with_reaper:
            self._reapers.append(self._supervised("reaper", "reaper", self._environ))
        for process in (*self._brokers, *self._reapers):
            process.start()

    async def _stop_processes(self) -> None:
        patience = self._configuration.drain_seconds + DRAIN_GRACE
        await asyncio.gather(*(broker.stop(patience) for broker in self._brokers))
        await asyncio.gather(*(reaper.stop(REAPER_PATIENCE) for reaper in self._reapers))

    def _reload_certificates(self) -> None:
        for broker in self._brokers:
            broker.send(signal.SIGHUP)

    async def _wait_until_ready(self) -> None:
        configuration = self._configuration
        while not await asyncio.to_thread(answers, configuration, configuration.port):
            if max(broker.failures for broker in self._brokers) >= FAILURES_BEFORE_READY:
                raise LauncherError("The broker could not start; see the reason above.")
            await asyncio.sleep(PROBE_PAUSE)

    def _announce(self) -> None:
        port = self._configuration.port
        console = browser_url(self._configuration, port)
        websocket = http_url(self._configuration, port).replace("http", "ws", 1)
        print(
            f"Willow is ready: console {console}/console/, clients {websocket}/connect/, Ctrl-C stops it.",
            flush=True,
        )

    async def _watch_servers(self) -> None:
        while True:
            await asyncio.sleep(WATCH_PAUSE)
            # In this thread on purpose: Linux ends a server with the thread that started it.
            for name in self._servers.revive():
                print(f"{name} had stopped and was restarted.", flush=True)

    def _supervised(self, name: str, command: str, environ: Mapping[str, str]) -> SupervisedProcess:
        return SupervisedProcess(name, self._manage(command), environ, self._home.processes)

    def _manage(self, command: str) -> list[str]:
        return [sys.executable, str(PROJECT_FOLDER / "manage.py"), command]
