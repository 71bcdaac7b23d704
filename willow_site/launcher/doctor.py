"""`./willow doctor`: what is wrong with this machine or configuration, and the remedy."""

import argparse
import os
from collections.abc import Iterator

from willow_site.configuration import load_configuration
from willow_site.launcher.findings import Finding, Patient, Verdict, good
from willow_site.launcher.home_option import add_home_option, environ_with_home
from willow_site.launcher.homes import Home
from willow_site.launcher.machine_checks import MACHINE_CHECKS
from willow_site.launcher.servers import SUPPLIED, Servers
from willow_site.launcher.service_checks import database, exposure, redis


def run(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="willow doctor")
    add_home_option(parser)
    parser.add_argument("--port", help="the port to check (WILLOW_PORT, or the one that the home runs on)")
    options = parser.parse_args(arguments)
    environ = environ_with_home(os.environ, options)
    if options.port is not None:
        environ["WILLOW_PORT"] = options.port
    configuration = load_configuration(environ, supplied_later=SUPPLIED)
    patient = Patient(configuration, Home(configuration.home), environ)
    everything_works = True
    for finding in _examine(patient):
        _show(finding)
        everything_works &= finding.verdict is not Verdict.WRONG
    return 0 if everything_works else 1


def _examine(patient: Patient) -> Iterator[Finding]:
    for check in MACHINE_CHECKS:
        yield check(patient)
    yield exposure(patient)
    yield redis(patient)
    if not patient.configuration.database_url and not patient.home.has_postgres():
        yield good("There is no data yet. The first `./willow up` creates a PostgreSQL for it.")
        return
    patient.home.make()  # Django needs a secret key to look at the migrations, and keeps it there
    servers = Servers(patient.configuration, patient.home, end_with_launcher=False)
    try:
        environ = {**patient.environ, **servers.start()}
        yield from database(Patient(patient.configuration, patient.home, environ))
    finally:
        servers.stop()


def _show(finding: Finding) -> None:
    print(f"{finding.verdict.value:5}  {finding.what}")
    if finding.remedy:
        print(f"       Fix: {finding.remedy}")
