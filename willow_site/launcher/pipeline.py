"""`./willow pipeline`: the data pipeline against the home, whether or not Willow is up."""

import argparse
import os
import sys
from pathlib import Path

from pipeline.options import is_url
from willow_site.configuration import Configuration, load_configuration
from willow_site.launcher.foreground import run_in_foreground
from willow_site.launcher.home_option import add_home_option, environ_with_home
from willow_site.launcher.homes import Home, refuse_without_data
from willow_site.launcher.servers import SUPPLIED, Servers
from willow_site.project_folder import PROJECT_FOLDER


def run(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="willow pipeline", add_help=False)
    add_home_option(parser)
    options, rest = parser.parse_known_args(arguments)
    environ = environ_with_home(os.environ, options)
    configuration = load_configuration(environ, supplied_later=SUPPLIED)
    home = Home(configuration.home)
    refuse_without_data(configuration, home)
    home.make()
    servers = Servers(configuration, home, end_with_launcher=False)
    try:
        environ |= servers.start() | pipeline_environ(configuration)
        # Files that the operator names are meant from where it is called; a folder `pipeline` there is not ours (-P).
        environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(PROJECT_FOLDER), environ.get("PYTHONPATH"))))
        return run_in_foreground([sys.executable, "-P", "-m", "pipeline", *rest], environ, folder=Path.cwd())
    finally:
        servers.stop()


def pipeline_environ(configuration: Configuration) -> dict[str, str]:
    """The settings that the pipeline reads by itself, as far as they are derived."""
    archive = configuration.pipeline_archive or str(configuration.home / "archive")
    if not is_url(archive):
        archive = str(PROJECT_FOLDER / archive)  # the same place, wherever a command is started
    return {"WILLOW_PIPELINE_ARCHIVE": archive, "WILLOW_HOME": str(configuration.home)}
