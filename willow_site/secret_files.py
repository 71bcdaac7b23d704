"""Secrets that are generated once and kept in a file that only its owner can read."""

import os
import secrets
from pathlib import Path

SECRET_BYTES = 48  # 64 characters


def write_closed(file: Path, text: str) -> None:
    """Write a file that only its owner can read, also if there was one that others could."""
    descriptor = os.open(file, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as stream:
        os.fchmod(descriptor, 0o600)
        stream.write(text)


def kept_secret(file: Path) -> str:
    """The secret in the file; if there is none yet, one that all callers agree on from now on."""
    if not file.exists():
        unfinished = file.with_name(f"{file.name}.{os.getpid()}")
        write_closed(unfinished, secrets.token_urlsafe(SECRET_BYTES))
        try:
            os.link(unfinished, file)  # fails if another process was first, whose secret then holds
        except FileExistsError:
            pass
        finally:
            unfinished.unlink()
    return file.read_text()
