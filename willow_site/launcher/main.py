"""The launcher's commands, and the way to each: the right Python environment, then the command's own file.

The launcher uses the standard library only, so it starts at once and on a machine that has nothing yet.
"""

import importlib
import sys
from dataclasses import dataclass

from delivery.protocol.version import VERSION
from willow_site.embedded.errors import EmbeddedServerError
from willow_site.launcher.environment import enter_environment
from willow_site.launcher.errors import LauncherError
from willow_site.launcher.owners import not_allowed
from willow_site.listening import PortTakenError
from willow_site.setting_declaration import ConfigurationError

# Locked: with every package that those of the .txt file need, and the hashes of all.
BROKER = ("requirements-broker.lock",)
DEVELOPMENT = ("requirements-broker.lock", "requirements-dev.lock")
SPARK = ("requirements-pipeline.lock", "requirements-jdbc.txt")


@dataclass(frozen=True)
class Command:
    """A command lives in the file of its name in this folder, as the function `run`."""

    name: str
    about: str
    requirements: tuple[str, ...] = BROKER


COMMANDS = (
    Command("up", "runs Willow in the foreground with everything it needs, until Ctrl-C"),
    Command("status", "shows what is running, and where"),
    Command("doctor", "checks this machine and the configuration, and says how to fix what is wrong"),
    Command("manage", "runs a Django management command on the same home"),
    Command("pipeline", "archives the journal and computes facts from it, on Spark", BROKER + SPARK),
    Command("test", "runs the tests on their own servers; arguments go to pytest", DEVELOPMENT + SPARK),
    Command("lint", "checks style, types and the direction of imports", DEVELOPMENT),
    Command("faults", "runs a cluster under faults and proves that nothing is lost", DEVELOPMENT),
    Command("fuzz", "sends damaged frames to both codecs and to a broker of its own", DEVELOPMENT),
    Command("bench", "measures Willow on this machine; arguments go to the benchmarks", DEVELOPMENT),
)


def main(arguments: list[str]) -> int:
    """Run the command that the arguments begin with, and return its exit code."""
    if arguments[:1] in (["--version"], ["-V"]):
        print(f"Willow {VERSION}")
        return 0
    command = next((command for command in COMMANDS if arguments[:1] == [command.name]), None)
    if command is None:
        return _explain(arguments)
    try:
        enter_environment(command.requirements, arguments)
        module = importlib.import_module(f"willow_site.launcher.{command.name}")
        return int(module.run(arguments[1:]))
    except ConfigurationError as error:
        print(error, file=sys.stderr)
        return 2
    except (LauncherError, EmbeddedServerError, PortTakenError) as error:
        print(error, file=sys.stderr)
        return 1
    except PermissionError as error:
        print(not_allowed(error), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130  # as shells report a program that Ctrl-C ended


def _explain(arguments: list[str]) -> int:
    asked = arguments[:1] in ([], ["help"], ["-h"], ["--help"])
    lines = [f"  ./willow {command.name:9} {command.about}" for command in COMMANDS]
    if not asked:
        lines.insert(0, f"There is no command {arguments[0]}. The commands are:")
    lines.append("  ./willow --version")
    print("\n".join(lines), file=sys.stdout if asked else sys.stderr)
    return 0 if asked else 2
