"""Where an account other than ours reaches data and programs.

Only root needs this: its servers run under an account that cannot enter a project below, say, /root.
"""

import os
import secrets
import shutil
from collections.abc import Iterable
from pathlib import Path

from willow_site.embedded.account import Account
from willow_site.embedded.errors import EmbeddedServerError

SHARED_ROOT = Path("/var/lib/willow")
# What only compilers need.
NOT_COPIED = shutil.ignore_patterns("include", "pgxs", "*.a", "__pycache__")


def data_folder(folder: Path, account: Account) -> Path:
    """The data of the server that belongs to `folder`: inside it, or else where the account can reach them.

    The choice is made once and kept in the folder, so that data never move because a mode was changed.
    """
    choice = folder / "data-folder"
    if not choice.exists():
        inside = account.can_enter(folder)
        choice.write_text("data" if inside else str(_shared_folder("data") / secrets.token_hex(8)))
    return folder / choice.read_text()


def reachable_copy(site_packages: Path, package: str, *, parts: Iterable[str]) -> Path:
    """A copy of parts of an installed package that everyone may read, made once per version."""
    version = next(site_packages.glob(f"{package}-*.dist-info")).stem
    copy = _shared_folder("programs") / version
    if not copy.exists():
        unfinished = copy.with_name(f"{version}.{os.getpid()}")
        for part in parts:
            shutil.copytree(site_packages / part, unfinished / part, symlinks=True, ignore=NOT_COPIED)
        _open_to_everyone(unfinished)
        unfinished.replace(copy)
    return copy


def _shared_folder(name: str) -> Path:
    folder = SHARED_ROOT / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path in (SHARED_ROOT, folder):
            path.chmod(0o755)  # whatever the umask
    except OSError as error:
        raise EmbeddedServerError(
            f"The embedded servers need {folder}, because their account cannot enter the home, "
            f"but it cannot be created: {error.strerror}."
        ) from None
    return folder


def _open_to_everyone(folder: Path) -> None:
    """Undo a strict umask: everyone may read, and enter or run what the owner may."""
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            mode = path.stat().st_mode
            path.chmod(mode | 0o444 | (0o111 if mode & 0o100 else 0))
