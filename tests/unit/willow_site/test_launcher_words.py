"""What the launcher says while somebody waits, and to somebody who may not use what is there."""

from pathlib import Path

import pytest

from willow_site.configuration import load_configuration
from willow_site.database_url import cannot_be_reached
from willow_site.launcher import environment
from willow_site.launcher.errors import LauncherError
from willow_site.launcher.installing import Progress, run_telling
from willow_site.launcher.owners import not_allowed
from willow_site.launcher.readiness import browser_url


def test_progress_counts_what_pip_unpacks(tmp_path: Path) -> None:
    (tmp_path / "old-1.dist-info").mkdir()
    told: list[str] = []
    progress = Progress(tmp_path, told.append)
    progress.read("Collecting django==5.2 (from -r requirements-broker.txt (line 1))\n")
    assert progress.so_far().startswith("still at it (")
    progress.read("Installing collected packages: a, b, c\n")
    (tmp_path / "a-1.dist-info").mkdir()
    assert progress.so_far().startswith("1 of 3 packages are unpacked (")
    assert told == ["  Collecting django==5.2", "  Unpacking 3 packages"]


def test_a_failed_installation_shows_how_it_ended() -> None:
    with pytest.raises(LauncherError, match=r"(?s)It failed:.*No such option"):
        run_telling(["sh", "-c", "echo No such option; exit 2"], "It failed")


@pytest.mark.parametrize(
    ("there", "sentence"),
    [
        (True, "belongs to .*, and .* may not use it: start Willow as"),
        (False, "does not exist yet, and .* may not create it"),
    ],
)
def test_an_environment_of_somebody_else(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, there: bool, sentence: str
) -> None:
    def refuse(*_: object) -> bool:
        raise PermissionError(13, "Permission denied", str(tmp_path / "file"))

    monkeypatch.setattr(environment, "ENVIRONMENT", tmp_path / ".venv")
    if there:
        monkeypatch.setattr(environment, "_is_installed", refuse)
    else:
        monkeypatch.setattr(environment, "_is_installed", lambda file: False)
        monkeypatch.setattr(environment, "_has_working_pip", refuse)
    with pytest.raises(LauncherError, match=sentence):
        environment.enter_environment(["requirements-broker.txt"], ["up"])


def test_a_file_of_somebody_else(tmp_path: Path) -> None:
    said = not_allowed(PermissionError(13, "Permission denied", str(tmp_path / "none" / "up.lock")))
    assert f"may not use {tmp_path}/none/up.lock, which belongs to " in said


def test_a_database_that_cannot_be_reached_is_named_with_the_whole_reason() -> None:
    reason = "connection failed: connection to server failed: refused\n\tIs the server running there?\n"
    assert cannot_be_reached(reason, "postgresql://u:secret@db.example.org:6432/willow") == (
        "The database willow at db.example.org:6432 cannot be reached: "
        "connection failed: connection to server failed: refused Is the server running there?"
    )


@pytest.mark.parametrize(
    ("hosts", "bind", "url"),
    [
        ("", "127.0.0.1", "http://127.0.0.1:80"),
        ("broker.example.org", "127.0.0.1", "http://broker.example.org:80"),
        (".example.org", "0.0.0.0", "http://example.org:80"),
        ("*", "0.0.0.0", "http://127.0.0.1:80"),
        ("", "::1", "http://[::1]:80"),
    ],
)
def test_the_console_is_shown_under_a_name_that_is_allowed(hosts: str, bind: str, url: str) -> None:
    environ = {"ALLOWED_HOSTS": hosts, "WILLOW_BIND": bind}
    configuration = load_configuration(environ, supplied_later=("DATABASE_URL", "SECRET_KEY"))
    assert browser_url(configuration, 80) == url
