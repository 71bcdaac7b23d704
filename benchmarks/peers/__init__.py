"""Willow and other ways to run a work queue, on one workload: `python -m benchmarks peers`.

A peer is a module here with
- `NAME`, and `CONFIRM`, which says what is certain when it has answered a post;
- `missing()`: the command that installs what it lacks, or None;
- `serving()`: a context in which its server runs, giving its address;
- `connect(address)`: an asynchronous context with a `Connection` (see `connection.py`).

Where `IN_GROUPS` is false, the peer knows only single messages. A task queue, whose messages are taken by workers of
its own, has in place of takes and finishes
- `worker_command(address)`: the program that runs eight workers;
- `left(address)`: an asynchronous function that counts the messages whose end is not recorded yet.
"""
