"""The pipeline's commands, and the way to each. A file is loaded only when it is asked for: Spark takes its time."""

import argparse
import importlib
import os
import sys

from pipeline.errors import AlreadyRunningError
from pipeline.failures import explained, keep_trace

# Name, what it does, and the module that has `add_arguments(parser)` and `main(arguments) -> exit code`.
COMMANDS = (
    ("run", "archives what is new in the journal and computes the facts that it changes", "pipeline.commands.run"),
    (
        "follow",
        "keeps the facts of the newest minutes fresh, and now and then does what `run` does",
        "pipeline.commands.follow",
    ),
    ("backfill", "archives again the days that are still in the journal", "pipeline.commands.backfill"),
    ("status", "shows the progress of the archive, and how the last runs ended", "pipeline.commands.status"),
    ("report", "writes a page with charts about queues, dead letters and health", "pipeline.report.command"),
    ("erase", "removes bodies, error texts and names of clients from everywhere", "pipeline.commands.erase"),
    ("replay", "posts archived messages again", "pipeline.replay"),
)
FAILED, MISUSED, ALREADY_RUNNING, INTERRUPTED = 1, 2, 3, 130  # exit codes


def main(arguments: list[str]) -> int:
    """Run the command that the arguments begin with, and return its exit code."""
    chosen = next((command for command in COMMANDS if arguments[:1] == [command[0]]), None)
    if chosen is None:
        return _explain(arguments)
    name, about, path = chosen
    module = importlib.import_module(path)
    parser = argparse.ArgumentParser(prog=f"willow pipeline {name}", description=f"{about[0].upper()}{about[1:]}.")
    module.add_arguments(parser)
    try:
        return int(module.main(parser.parse_args(arguments[1:])))
    except AlreadyRunningError as error:
        print(error, file=sys.stderr)
        return ALREADY_RUNNING
    except BrokenPipeError:  # as by `| head`: whoever read the output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        _tell(error)
        return FAILED


def _tell(error: Exception) -> None:
    """One sentence here, everything else in a file."""
    print(explained(error), file=sys.stderr)
    trace = keep_trace(error, os.environ)
    if trace:
        print(f"Everything that is known about it is in {trace}.", file=sys.stderr)


def _explain(arguments: list[str]) -> int:
    asked = arguments[:1] in ([], ["help"], ["-h"], ["--help"])
    lines = [f"  ./willow pipeline {name:9} {about}" for name, about, _ in COMMANDS]
    if not asked:
        lines.insert(0, f"The pipeline has no command {arguments[0]}. The commands are:")
    print("\n".join(lines), file=sys.stdout if asked else sys.stderr)
    return 0 if asked else MISUSED
