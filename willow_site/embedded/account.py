"""The account under which embedded servers run.

PostgreSQL refuses to run as root, so root lends its servers an unprivileged account; anyone else runs
them as themselves.
"""

import os
import pwd
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from willow_site.embedded.errors import EmbeddedServerError

# `nobody` exists on every system; `postgres` is the better owner of a database where it exists.
CANDIDATES = ("postgres", "nobody")


@dataclass(frozen=True)
class Account:
    name: str
    uid: int
    gid: int

    @property
    def is_this_process(self) -> bool:
        return self.uid == os.geteuid()

    def popen_arguments(self) -> dict[str, Any]:
        """What subprocess needs to run a program under this account."""
        if self.is_this_process:
            return {}
        return {"user": self.uid, "group": self.gid, "extra_groups": []}

    def give(self, path: Path) -> None:
        """Make the account the owner of a file or an empty folder."""
        if not self.is_this_process:
            os.chown(path, self.uid, self.gid)

    def can_enter(self, folder: Path) -> bool:
        """Whether the account reaches the folder; tried for real, since access depends on every parent."""
        return self._succeeds(["test", "-x", str(folder)])

    def can_run(self, program: Path) -> bool:
        return self._succeeds([str(program), "--version"])

    def _succeeds(self, command: list[str]) -> bool:
        try:
            return (
                subprocess.run(command, capture_output=True, check=False, cwd="/", **self.popen_arguments()).returncode
                == 0
            )
        except OSError:
            return False


def service_account() -> Account:
    """The account for new servers."""
    if os.geteuid() != 0:
        return account_of(os.geteuid())
    for name in CANDIDATES:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(name, entry.pw_uid, entry.pw_gid)
    raise EmbeddedServerError(
        f"PostgreSQL does not run as root and this machine has no account {' or '.join(CANDIDATES)}; "
        "start Willow as an ordinary user or set DATABASE_URL."
    )


def account_of(uid: int) -> Account:
    """An account that may lack an entry in the user database, as often in containers."""
    try:
        entry = pwd.getpwuid(uid)
    except KeyError:
        return Account(str(uid), uid, os.getegid())
    return Account(entry.pw_name, uid, entry.pw_gid)
