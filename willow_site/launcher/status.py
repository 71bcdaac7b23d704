"""`./willow status`: what runs where on a home."""

import argparse
import os

from willow_site.configuration import load_configuration
from willow_site.embedded.server import EmbeddedServer
from willow_site.launcher.home_option import add_home_option, environ_with_home
from willow_site.launcher.homes import Home
from willow_site.launcher.readiness import answers, http_url
from willow_site.launcher.servers import SUPPLIED
from willow_site.processes import ProcessIdentity


def run(arguments: list[str]) -> int:
    """Print it, and return 0 if Willow runs and answers."""
    parser = argparse.ArgumentParser(prog="willow status")
    add_home_option(parser)
    environ = environ_with_home(os.environ, parser.parse_args(arguments))
    configuration = load_configuration(environ, supplied_later=SUPPLIED)
    home = Home(configuration.home)
    holder = home.holder()
    print(f"home        {home.folder}")
    if holder is None:
        print("launcher    not running")
    else:
        print(f"launcher    process {holder.pid} since {holder.since}")
    _show_processes(home)
    for server in (home.postgres(ends_with_starter=False), home.valkey(ends_with_starter=False)):
        _show_server(server)
    if holder is None:
        return 1
    responds = answers(configuration, holder.port)
    how = "answers" if responds else "does not answer"
    print(f"broker      {how} at {http_url(configuration, holder.port)}/")
    return 0 if responds else 1


def _show_processes(home: Home) -> None:
    for file in sorted(home.processes.glob("*")):
        process = ProcessIdentity.read(file)
        if process and process.runs():
            print(f"{file.name:11} process {process.pid}")


def _show_server(server: EmbeddedServer) -> None:
    process = server.running_process() if server.folder.exists() else None
    if process:
        print(f"{server.name.lower():11} process {process.pid} at 127.0.0.1:{server.port}")
