"""What a process does that finds itself forked: what it has is its parent's.

Python tells of its own forks. A server that forks below Python (uWSGI) tells nobody: whoever uses what has been forked
asks before, by `notice_fork`.
"""

import os
import threading
from collections.abc import Callable

_process = os.getpid()
_actions: list[Callable[[], None]] = []
_lock = threading.Lock()


def after_fork(action: Callable[[], None]) -> None:
    """In each process that is forked from this one, once, before it uses anything of ours."""
    _actions.append(action)


def notice_fork() -> None:
    if os.getpid() != _process:
        with _lock:
            _forked()


def _forked() -> None:
    global _process
    if os.getpid() != _process:  # another thread may have been faster
        for action in _actions:
            action()
        _process = os.getpid()


os.register_at_fork(after_in_child=_forked)
