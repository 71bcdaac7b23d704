"""The network of a cluster: every connection goes through a proxy, which can be slow, silent or cut."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar
from urllib.parse import urlsplit

from tests.support.proxy import Proxy

Result = TypeVar("Result")


class Wire:
    """The way to one port, used from any thread."""

    def __init__(self, network: "Network", proxy: Proxy) -> None:
        self._network = network
        self._proxy = proxy
        self.port = urlsplit(proxy.url).port

    @property
    def url(self) -> str:
        return self._proxy.url

    def stall(self) -> None:
        """Connections stay open and nothing arrives: a peer that has vanished without a word."""
        self._network.call(self._proxy.stall)

    def stall_answers(self) -> None:
        self._network.call(self._proxy.stall_answers)

    def flow(self) -> None:
        self._network.call(self._proxy.flow)

    def reset(self) -> None:
        """All connections are torn down, with what is on its way in them."""
        self._network.call(self._proxy.reset)

    def lead_to(self, port: int) -> None:
        self._network.call(lambda: self._proxy.lead_to(port))

    def delay(self, seconds: float) -> None:
        self._network.call(lambda: setattr(self._proxy, "delay", seconds))


class Network:
    """Its own thread, so that nothing else that this process does holds the traffic up."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._proxies: list[Proxy] = []

    def wire(self, port: int) -> Wire:
        proxy = Proxy(port)
        self._run(proxy.start())
        self._proxies.append(proxy)
        return Wire(self, proxy)

    def call(self, action: Callable[[], None]) -> None:
        async def act() -> None:
            action()

        self._run(act())

    def stop(self) -> None:
        for proxy in self._proxies:
            self._run(proxy.stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _run(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(timeout=30)
