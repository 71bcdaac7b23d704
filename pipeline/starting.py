"""Starting Java: what it says meanwhile goes to a file, and why it did not start becomes a sentence."""

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from py4j.protocol import Py4JJavaError

from pipeline.errors import PipelineError

REMEDY = "Check --master, WILLOW_PIPELINE_MASTER, WILLOW_PIPELINE_MEMORY and WILLOW_PIPELINE_DRIVER."

# What Ivy says about a package that it cannot get.
NOT_DOWNLOADED = re.compile(r"(?:unresolved dependency: |download failed: )([\w.#;:-]+)")
REASON = re.compile(
    r"^(?:Error: |Exception in thread \"[^\"]*\" |.*?[A-Za-z]Exception: |.*?[A-Za-z]Error: )([^\n]+)", re.M
)


@contextmanager
def output_of_java(file: Path) -> Iterator[None]:
    """Programs that are started meanwhile write into the file, for as long as they run."""
    if "PYSPARK_GATEWAY_PORT" in os.environ:  # Java runs already, and spark-submit decides what it says where
        yield
        return
    sys.stdout.flush()
    sys.stderr.flush()
    kept = [os.dup(number) for number in (1, 2)]
    target = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        for number in (1, 2):
            os.dup2(target, number)
        yield
    finally:
        for number, original in zip((1, 2), kept, strict=True):
            os.dup2(original, number)
            os.close(original)
        os.close(target)


def not_started(error: Exception, said: str, master: str) -> PipelineError:
    missing = NOT_DOWNLOADED.search(said)
    if missing:
        package = missing.group(1).rstrip(":").replace("#", ":").replace(";", ":")
        return PipelineError(
            f"Spark could not download {package} from Maven.",
            "Check WILLOW_PIPELINE_DRIVER and the network; or set WILLOW_PIPELINE_DRIVER to the path of a jar.",
            details=said,
        )
    return PipelineError(f"Spark could not be started on {master}: {_reason(error, said)}", REMEDY, details=said)


def _reason(error: Exception, said: str) -> str:
    """In Java's own words, if Java came so far."""
    if isinstance(error, Py4JJavaError):
        return str(error.java_exception.getMessage() or error).strip().splitlines()[0]
    found = REASON.search(said)
    return found.group(1).strip() if found else str(error).strip().splitlines()[0]
