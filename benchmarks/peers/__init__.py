"""Willow and other ways to run a work queue, on one workload: `python -m benchmarks peers`.

A peer is a module here with
- `NAME`, and `DURABILITY`, which says what it promises when it has answered a post;
- `missing()`: what has to be installed before it can run, or None;
- `serving()`: a context in which its server runs, giving its address;
- `connect(address)`: an asynchronous context with a `Connection` (see `connection.py`).
"""
