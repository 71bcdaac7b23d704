"""A checkout of an ordinary user's, and one in a folder that only its owner may enter."""

import os
import pwd
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.copied_checkout import copy_checkout, give_environment, python_of
from tests.support.launched_willow import LaunchedWillow, commit_row, committed_rows, postgres_of
from willow_site.embedded.account import Account, account_of

IS_ROOT = os.geteuid() == 0


@pytest.fixture
def ordinary_user() -> Account:
    return account_of(pwd.getpwnam("nobody").pw_uid) if IS_ROOT else account_of(os.geteuid())


@pytest.fixture
def closed_folder(tmp_path: Path) -> Iterator[Path]:
    """A folder that only we may enter; what root had to put elsewhere is removed afterwards."""
    tmp_path.chmod(0o700)
    yield tmp_path
    shutil.rmtree(postgres_of(tmp_path / "checkout" / ".willow").data, ignore_errors=True)


def launched(checkout: Path, port: int, user: Account) -> LaunchedWillow:
    return LaunchedWillow(
        checkout / ".willow",
        port=port,
        checkout=checkout,
        path=f"{python_of(user).parent}:/usr/bin:/bin",
        cwd="/",
        **user.popen_arguments(),
    )


def test_an_ordinary_user_runs_willow(home: Path, port: int, ordinary_user: Account) -> None:
    checkout = home.with_name("checkout")
    copy_checkout(checkout, ordinary_user)
    give_environment(checkout, ordinary_user)
    with launched(checkout, port, ordinary_user).wait_until_ready() as willow:
        assert willow.postmaster().uids().real == ordinary_user.uid
        assert willow.process("broker-0").uids().real == ordinary_user.uid
        assert (checkout / ".willow").stat().st_mode & 0o077 == 0


def test_willow_runs_below_a_folder_that_only_its_owner_may_enter(closed_folder: Path, port: int) -> None:
    checkout = closed_folder / "checkout"
    owner = account_of(os.geteuid())
    copy_checkout(checkout, owner)
    give_environment(checkout, owner)
    home = checkout / ".willow"
    with launched(checkout, port, owner).wait_until_ready() as willow:
        commit_row(home, "kept")
        assert willow.postmaster().uids().real != 0
    assert postgres_of(home).data.is_relative_to(home) is not IS_ROOT
    with launched(checkout, port, owner).wait_until_ready():
        assert committed_rows(home) == ["kept"]


@pytest.mark.long
def test_a_fresh_clone_of_an_ordinary_user_installs_itself(home: Path, port: int, ordinary_user: Account) -> None:
    checkout = home.with_name("checkout")
    copy_checkout(checkout, ordinary_user)
    with launched(checkout, port, ordinary_user).wait_until_ready() as willow:
        assert "Creating a Python environment in .venv (only the first time)." in willow.output
