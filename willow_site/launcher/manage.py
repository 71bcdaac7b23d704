"""`./willow manage`: a Django management command against the home, whether or not Willow is up."""

import argparse
import os
import sys

from willow_site.configuration import load_configuration
from willow_site.launcher.foreground import run_in_foreground
from willow_site.launcher.home_option import add_home_option, environ_with_home
from willow_site.launcher.homes import Home, refuse_without_data
from willow_site.launcher.lint import PLACEHOLDERS
from willow_site.launcher.servers import SUPPLIED, Servers
from willow_site.project_folder import PROJECT_FOLDER

WITHOUT_DATABASE = ("help", "version", "--help", "-h", "--version")
MAKING_THE_DATABASE = ("prepare", "migrate")


def run(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="willow manage", add_help=False, allow_abbrev=False)
    add_home_option(parser)
    options, command = parser.parse_known_args(arguments)  # --home may stand anywhere; the rest is the command's
    environ = environ_with_home(os.environ, options)
    configuration = load_configuration(environ, supplied_later=SUPPLIED)
    home = Home(configuration.home)
    manage = [sys.executable, str(PROJECT_FOLDER / "manage.py"), *command]
    if not command or command[0] in WITHOUT_DATABASE:
        return run_in_foreground(manage, PLACEHOLDERS | environ)
    if command[0] not in MAKING_THE_DATABASE:
        refuse_without_data(configuration, home)
    home.make()
    # Others may join the server meanwhile, so it must not end just because this process does.
    servers = Servers(configuration, home, end_with_launcher=False)
    try:
        environ |= servers.start()
        return run_in_foreground(manage, environ)
    finally:
        servers.stop()
