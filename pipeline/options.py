"""What a run is told: from the environment, which `./willow pipeline` fills in, and from the command line."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pipeline.errors import PipelineError

DEFAULT_MASTER = "local[*]"
DEFAULT_MEMORY = "1g"
MASTERS = ("local", "spark://", "k8s://", "yarn")


@dataclass(frozen=True, kw_only=True)
class Options:
    database_url: str  # as the owner of the tables: plans, commits and merges
    read_url: str  # as a reader: what Spark reads the journal with
    archive: str  # folder or URL, without a slash at its end
    master: str = DEFAULT_MASTER
    memory: str = DEFAULT_MEMORY
    slice_rows: int = 1_000_000  # rows that become files in one commit
    partition_rows: int = 25_000  # rows that one JDBC statement reads: less than a second, and about 40 MB of memory
    partition_bytes: int = 32 * 1024 * 1024  # bytes of bodies that one JDBC statement reads
    lineage: str | None = None  # where OpenLineage events go: the URL of a server, or a file
    spark: Mapping[str, str] = field(default_factory=dict)  # settings of Spark that are to be other than ours

    @property
    def is_local(self) -> bool:
        return self.master.startswith("local")


def options_from(environ: Mapping[str, str], *, master: str | None = None) -> Options:
    database_url = _needed(environ, "DATABASE_URL", "the address of Willow's PostgreSQL")
    archive = _needed(environ, "WILLOW_PIPELINE_ARCHIVE", "the folder or URL of the archive")
    return Options(
        database_url=database_url,
        read_url=environ.get("WILLOW_PIPELINE_READ_URL") or database_url,
        archive=_absolute(archive),
        master=_known(master or environ.get("WILLOW_PIPELINE_MASTER") or DEFAULT_MASTER),
        memory=environ.get("WILLOW_PIPELINE_MEMORY") or DEFAULT_MEMORY,
        lineage=environ.get("WILLOW_PIPELINE_LINEAGE") or None,
    )


def _needed(environ: Mapping[str, str], variable: str, what: str) -> str:
    value = environ.get(variable)
    if not value:
        raise PipelineError(f"{variable} is not set: {what}.", "Start with ./willow pipeline, which supplies it.")
    return value


def _known(master: str) -> str:
    """Spark would answer another one with a page of Java."""
    if not master.startswith(MASTERS):
        raise PipelineError(
            f"The master is {master!r}, but it must be a Spark master such as local[*] or spark://host:7077."
        )
    return master


def _absolute(archive: str) -> str:
    """A URL as it is, a folder as a URL, so that all of Spark understands the same place by it."""
    return archive.rstrip("/") if is_url(archive) else Path(archive).absolute().as_uri()


def is_url(archive: str) -> bool:
    return re.match(r"[a-z][a-z0-9+.-]*:/", archive) is not None
