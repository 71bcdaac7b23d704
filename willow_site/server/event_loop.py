"""The event loop under Twisted."""

import asyncio

import uvloop


def choose(*, plain: bool) -> asyncio.AbstractEventLoop:
    """Make Twisted run on uvloop, or on asyncio's own loop; call it before anything imports the reactor.

    Daphne keeps a reactor that is already installed and would otherwise make one itself.
    """
    from twisted.internet import asyncioreactor

    loop = asyncio.new_event_loop() if plain else uvloop.new_event_loop()
    asyncioreactor.install(loop)
    return loop
