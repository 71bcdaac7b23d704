"""A process beside the broker's, for work that would keep its interpreter or its core to itself."""

import os
import socket
import subprocess
import sys


class SideProcess:
    """`python -m <module>`, made when first needed. The module answers over a socket (side_socket.py).

    Not one of `multiprocessing`: that imports what this process has imported, and takes 60 MB and half a second.
    """

    def __init__(self, module: str) -> None:
        self._module = module
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None

    def connection(self) -> socket.socket:
        return self._socket or self._start()

    @property
    def number(self) -> int | None:
        return self._process.pid if self._process is not None else None

    def _start(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        with theirs:
            command = [sys.executable, "-m", self._module, str(theirs.fileno())]
            self._process = subprocess.Popen(
                command,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
            )
        self._socket = ours
        return ours

    def end(self) -> None:
        """The next work gets a new one."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
