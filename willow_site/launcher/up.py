"""`./willow up`: a whole node in the foreground, started from the ground up and stopped in reverse."""

import argparse
import os
import signal

from willow_site.configuration import load_configuration
from willow_site.launcher.home_option import add_home_option, environ_with_home
from willow_site.launcher.homes import Home
from willow_site.launcher.node import Node
from willow_site.launcher.servers import SUPPLIED, Servers
from willow_site.launcher.supervision import end_orphans
from willow_site.listening import bound_socket

ORPHAN_GRACE = 5  # seconds beyond the drain time


def run(arguments: list[str]) -> int:
    options = _parser().parse_args(arguments)
    environ = _with_options(options)
    configuration = load_configuration(environ, supplied_later=SUPPLIED)
    home = Home(configuration.home)
    home.make()
    with home.held(port=configuration.port):
        for name in end_orphans(home.processes, patience=configuration.drain_seconds + ORPHAN_GRACE):
            print(f"Stopped the {name} that a killed launcher had left behind.", flush=True)
        # Without sharing, so that it fails also where another node shares the port among its processes.
        bound_socket(configuration.bind, configuration.port, shared=False).close()
        servers = Servers(configuration, home, end_with_launcher=True)
        # Until the event loop takes the signals, both end the start in the same way.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            environ |= servers.start()
            Node(configuration, home, servers, environ, with_reaper=not options.no_reaper).run()
        finally:
            _ignore_signals()
            servers.stop()
        print("Willow has stopped.", flush=True)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="willow up")
    parser.add_argument("--port", help="the port of the broker and the console (WILLOW_PORT)")
    add_home_option(parser)
    parser.add_argument("--processes", help="how many broker processes share the port (WILLOW_PROCESSES)")
    parser.add_argument("--no-reaper", action="store_true", help="do not run a reaper here; another node must run one")
    return parser


def _with_options(options: argparse.Namespace) -> dict[str, str]:
    environ = environ_with_home(os.environ, options)
    for variable, value in (("WILLOW_PORT", options.port), ("WILLOW_PROCESSES", options.processes)):
        if value is not None:
            environ[variable] = value
    return environ


def _ignore_signals() -> None:
    """An impatient second Ctrl-C must not interrupt the orderly end of the database."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
