"""Procrastinate's application."""

from procrastinate import App, PsycopgConnector

from benchmarks.peers.workers.waits import ADDRESS, note

app = App(connector=PsycopgConnector(conninfo=ADDRESS, min_size=1, max_size=10))


@app.task(name="work")
async def work(body: str) -> None:
    note(body)
