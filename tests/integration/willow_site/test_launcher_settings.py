"""A wrong setting stops every way of starting with its one sentence."""

import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from delivery.protocol.version import VERSION
from tests.support.launched_willow import run_willow
from willow_site.launcher.foreground import without_settings
from willow_site.project_folder import PROJECT_FOLDER

WRONG = [
    ("WILLOW_PORT", "eighty", 'WILLOW_PORT is "eighty", but it must be a whole number from 1 to 65535.'),
    ("WILLOW_ANONYMOUS", "some", 'WILLOW_ANONYMOUS is "some", but it must be loopback, all or none.'),
    ("WILLOW_NODE_LAPSE", "1", 'WILLOW_NODE_LAPSE is "1", but it must be more than WILLOW_NODE_HEARTBEAT.'),
    ("WILLOW_PROT", "1", "WILLOW_PROT is not a setting of Willow; did you mean WILLOW_PORT?"),
    (
        "DATABASE_URL",
        "mysql://host/name",
        "DATABASE_URL is set to a value that is not shown, "
        "but it must be a URL such as postgresql://user:password@host:5432/willow.",
    ),
    (
        "DATABASE_URL",
        "postgresql://host/name?aplication_name=orders",
        'DATABASE_URL has the option "aplication_name", but PostgreSQL\'s client library has none of this name; '
        "the closest one is application_name.",
    ),
]


@pytest.mark.parametrize(("variable", "value", "sentence"), WRONG)
def test_up_says_it(home: Path, variable: str, value: str, sentence: str) -> None:
    answer = run_willow("up", "--home", str(home), **{variable: value})
    assert (answer.returncode, answer.stdout, answer.stderr) == (2, "", f"{sentence}\n")
    assert not home.exists()


@pytest.mark.parametrize("command", ["status", "doctor", "manage"])
def test_the_other_commands_say_it_too(home: Path, command: str) -> None:
    variable, value, sentence = WRONG[0]
    answer = run_willow(command, "--home", str(home), **{variable: value})
    assert (answer.returncode, answer.stdout, answer.stderr) == (2, "", f"{sentence}\n")


@pytest.mark.parametrize("command", ["check", "serve", "reaper"])
def test_django_says_it(command: str) -> None:
    variable, value, sentence = WRONG[0]
    environ = {
        **without_settings(os.environ),
        "DATABASE_URL": "postgresql://127.0.0.1/none",
        "SECRET_KEY": "k" * 40,
        variable: value,
    }
    answer = subprocess.run(
        [sys.executable, "manage.py", command],
        cwd=PROJECT_FOLDER,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (answer.returncode, answer.stdout, answer.stderr) == (2, "", f"{sentence}\n")


def test_an_option_is_checked_like_its_variable(home: Path) -> None:
    answer = run_willow("up", "--home", str(home), "--port", "0")
    assert answer.stderr == 'WILLOW_PORT is "0", but it must be a whole number from 1 to 65535.\n'


def test_an_unknown_command_lists_the_known_ones() -> None:
    answer = run_willow("upp")
    assert answer.returncode == 2
    assert answer.stderr.startswith("There is no command upp. The commands are:\n  ./willow up ")


def test_the_version() -> None:
    assert run_willow("--version").stdout == f"Willow {VERSION}\n"


@pytest.mark.parametrize("command", [("manage", "key", "create"), ("pipeline", "status")])
def test_a_command_makes_no_database_where_there_is_none(home: Path, command: tuple[str, ...]) -> None:
    name, *rest = command
    answer = run_willow(name, "--home", str(home), *rest)
    sentence = f"There is no Willow in {home} yet: run `./willow up` first, or name its home with --home.\n"
    assert (answer.returncode, answer.stderr) == (1, sentence)
    assert not home.exists()


def test_a_command_on_an_empty_database_says_so(home: Path) -> None:
    empty_database = urlsplit(os.environ["DATABASE_URL"])._replace(path="/postgres").geturl()
    answer = run_willow("manage", "--home", str(home), "key", "list", DATABASE_URL=empty_database)
    assert answer.returncode == 1
    assert answer.stderr.startswith("The database has not got this version's tables: run `./willow up`")
    assert answer.stderr.count("\n") == 1


def test_the_doctor_tries_the_password_of_redis(home: Path, port: int) -> None:
    right = os.environ["REDIS_URL"]
    said = run_willow("doctor", "--home", str(home), "--port", str(port), REDIS_URL=right).stdout
    place = urlsplit(right).netloc.rpartition("@")[2]
    assert f"Redis at {place} answers" in said
    wrong = f"redis://:wrong@{right.partition('@')[2]}"
    said = run_willow("doctor", "--home", str(home), "--port", str(port), REDIS_URL=wrong).stdout
    assert f"WRONG  Redis at {place} cannot be used: " in said


@pytest.mark.parametrize("command", ["up", "doctor"])
def test_an_unreachable_database_is_named(home: Path, port: int, command: str) -> None:
    nothing_there = f"postgresql://willow@127.0.0.1:{port}/willow"
    answer = run_willow(command, "--home", str(home), DATABASE_URL=nothing_there)
    assert answer.returncode == 1
    said = answer.stdout + answer.stderr
    assert f"The database willow at 127.0.0.1:{port} cannot be reached: " in said
    assert "Connection refused" in said
    assert "Traceback" not in answer.stderr
