"""`./willow manage`: a Django management command against the home, whether or not Willow is up."""

import argparse
import os
import sys

from willow_site.configuration import PROJECT_FOLDER, load_configuration
from willow_site.launcher.foreground import run_in_foreground
from willow_site.launcher.home_option import add_home_option, environ_with_home
from willow_site.launcher.homes import Home
from willow_site.launcher.servers import SUPPLIED, Servers


def run(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="willow manage")
    add_home_option(parser)
    parser.add_argument("command", nargs=argparse.REMAINDER, help="the management command with its arguments")
    options = parser.parse_args(arguments)
    environ = environ_with_home(os.environ, options)
    configuration = load_configuration(environ, supplied_later=SUPPLIED)
    home = Home(configuration.home)
    home.make()
    # Others may join the server meanwhile, so it must not end just because this process does.
    servers = Servers(configuration, home, end_with_launcher=False)
    try:
        environ |= servers.start()
        return run_in_foreground([sys.executable, str(PROJECT_FOLDER / "manage.py"), *options.command], environ)
    finally:
        servers.stop()
