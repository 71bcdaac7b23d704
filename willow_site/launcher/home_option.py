"""The option `--home`, which several commands share."""

import argparse
from collections.abc import Mapping
from pathlib import Path


def add_home_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--home", type=Path, help="the folder for this node's data (WILLOW_HOME)")


def environ_with_home(environ: Mapping[str, str], options: argparse.Namespace) -> dict[str, str]:
    """The environment in which the option, relative to where the command was given, replaces the variable."""
    if options.home is None:
        return dict(environ)
    return {**environ, "WILLOW_HOME": str(options.home.absolute())}
