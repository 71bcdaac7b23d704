"""Whose files these are, said to somebody who may not use them."""

import os
import pwd
from pathlib import Path


def not_allowed(error: PermissionError) -> str:
    """One sentence about a file or folder that this user may not use, and what to do."""
    path = Path(error.filename) if error.filename else None
    if path is None:
        return f"Willow lacks a permission: {error.strerror}."
    owner = owner_of(path)
    return (
        f"{user_name(os.geteuid())} may not use {path}, which belongs to {owner}: start Willow as {owner}, "
        "or use a checkout and a home (--home) of your own."
    )


def owner_of(path: Path) -> str:
    """The owner of the path, or of the nearest folder above it that can be looked at."""
    for candidate in (path, *path.parents):
        try:
            return user_name(candidate.lstat().st_uid)
        except OSError:
            continue
    return "another user"


def user_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:  # as often in containers
        return f"user {uid}"
