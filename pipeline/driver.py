"""The JDBC driver by which Spark reaches PostgreSQL: a setting, a package, the system's, or Maven, in that order.

Standard library only: `./willow doctor` asks before anything of Spark is installed.
"""

import re
import sys
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pipeline.errors import PipelineError

SETTING = "WILLOW_PIPELINE_DRIVER"
DRIVER_CLASS = "org/postgresql/Driver.class"
MAVEN = re.compile(r"[\w.-]+:[\w.-]+:[\w.-]+")

# Where `./willow pipeline` unpacks the wheel that carries the driver: beside the packages, never on Python's path.
PACKAGE_FOLDER = Path(sys.prefix) / "jdbc"
SYSTEM_PLACES = (
    Path("/usr/share/java/postgresql.jar"),
    Path("/usr/share/java/postgresql-jdbc.jar"),
    Path("/usr/share/java/postgresql-jdbc/postgresql.jar"),
)
REMEDY = (
    f"`./willow pipeline` installs one; or set {SETTING} to the path of a jar or to a Maven coordinate such as "
    "org.postgresql:postgresql:42.7.4, or install Debian's libpostgresql-jdbc-java."
)


@dataclass(frozen=True)
class Driver:
    """Either a jar on this machine, or a Maven coordinate that Spark resolves itself."""

    jar: Path | None
    coordinate: str | None
    about: str


def find_driver(
    environ: Mapping[str, str],
    package_folder: Path = PACKAGE_FOLDER,
    system_places: Iterable[Path] = SYSTEM_PLACES,
) -> Driver:
    setting = environ.get(SETTING)
    if setting:
        return _from_setting(setting)
    packaged = sorted(package_folder.rglob("postgresql-*.jar"))
    if packaged:
        return Driver(packaged[-1], None, f"{packaged[-1].name} of a package")
    for place in system_places:
        if place.exists():
            return Driver(place, None, f"{place} of this machine")
    raise PipelineError("Spark needs a JDBC driver for PostgreSQL, and none was found.", REMEDY)


def _from_setting(setting: str) -> Driver:
    if MAVEN.fullmatch(setting):
        return Driver(None, setting, f"{setting} from Maven")
    jar = Path(setting)
    if not jar.is_file():
        raise PipelineError(
            f"{SETTING} is {setting!r}, which is neither a jar on this machine nor a Maven coordinate.", REMEDY
        )
    if not _has_driver(jar):
        raise PipelineError(
            f"{SETTING} is {setting!r}, which is no JDBC driver for PostgreSQL: it has no {DRIVER_CLASS}.", REMEDY
        )
    return Driver(jar, None, f"{jar}, as {SETTING} says")


def _has_driver(jar: Path) -> bool:
    try:
        with zipfile.ZipFile(jar) as archive:
            return DRIVER_CLASS in archive.namelist()
    except zipfile.BadZipFile:
        return False
