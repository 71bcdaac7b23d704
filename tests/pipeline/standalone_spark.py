"""A real Spark cluster on this machine."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark

from pipeline.java import find_java
from willow_site.processes import ends_with_parent


@contextmanager
def standalone_spark(folder: Path) -> Iterator[str]:
    """A standalone Spark: a master and two workers, from the files that pip installed."""
    home = Path(pyspark.__file__).parent
    environ = {
        **os.environ,
        "SPARK_HOME": str(home),
        "JAVA_HOME": str(find_java(os.environ, folder / "java").home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
    }

    def spawn(*arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [str(home / "bin" / "spark-class"), *arguments, "--host", "127.0.0.1", "--webui-port", "0"],
            env=environ,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=ends_with_parent(signal.SIGKILL),
        )

    master = spawn("org.apache.spark.deploy.master.Master", "--port", "0")
    processes = [master]
    try:
        url = said(master, "Starting Spark master at ")
        said(master, "I have been elected leader")
        for number in range(2):
            options = ("--cores", "1", "--memory", "1g", "--work-dir", str(folder / f"worker-{number}"), url)
            processes.append(spawn("org.apache.spark.deploy.worker.Worker", *options))
            said(master, "Registering worker")
        yield url
    finally:
        for process in reversed(processes):
            process.terminate()
            process.wait()
            assert process.stderr is not None
            process.stderr.close()


def said(process: subprocess.Popen[str], words: str) -> str:
    """Wait until the process says this, and return what follows on the line."""
    assert process.stderr is not None
    for line in process.stderr:
        if words in line:
            return line.partition(words)[2].strip()
    raise AssertionError(f"the process ended without saying {words!r}")
