"""What went wrong, in one sentence; the pages that Java says about it go to a file.

No import of Spark: `./willow pipeline` without a command must answer at once.
"""

import errno
import re
import tempfile
import traceback
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

import psycopg

from pipeline.errors import PipelineError

TRACES_KEPT = 20
FOLDER = "pipeline-errors"
SPARK = ("pyspark", "py4j")  # the packages whose errors carry a trace of Java

# What Spark says when it cannot read a file, and the file in it.
UNREADABLE_FILE = re.compile(
    r"(?:FAILED_READ_FILE|CANNOT_READ_FILE_FOOTER|while reading file)[^\n]*?(\w+:/[^\s,]+\.parquet)"
)
OUT_OF_MEMORY = re.compile(r"OutOfMemoryError|UNABLE_TO_ACQUIRE_MEMORY")
DATABASE = re.compile(r"(?:PSQLException|SQLException|FATAL|ERROR): ?([^\n]+)")
# What Java says about the cause of a failure: the last of these lines is the first cause.
CAUSE = re.compile(r"^(?:Caused by)?: (?:[\w.$]+(?:Exception|Error): )*([^\n]+)", re.M)
DISK_IS_FULL = re.compile(r"No space left on device|Disk quota exceeded")
NOT_WRITABLE = re.compile(
    r"[^\n]*(?:Permission denied|Read-only file system|Mkdirs failed to create|is not a directory)[^\n]*"
)
WRITTEN_TO = re.compile(r"while writing rows to (\S+?)\.?\s")
OF_FILES = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EIO}


def explained(error: Exception) -> PipelineError:
    """The error as a sentence with a remedy."""
    if isinstance(error, PipelineError):
        return error
    if isinstance(error, psycopg.Error):
        return _of_postgres(error)
    known = known_cause(error)
    if known:
        return known
    if _is_of_spark(error):
        return PipelineError(f"Spark failed: {spark_reason(error)}", "Nothing was lost. Run again.")
    return PipelineError(
        f"The run failed: {type(error).__name__}: {_first_line(str(error))}", "Nothing was lost. Run again."
    )


def known_cause(error: Exception) -> PipelineError | None:
    """For failures of Spark and of Python whose cause can be told from what they say."""
    text = str(error)
    unreadable = UNREADABLE_FILE.search(text)
    if unreadable:
        return PipelineError(
            f"The archive's file {unreadable.group(1)} cannot be read: it is damaged.",
            "Restore it from the backup; or delete it: then `./willow pipeline backfill` archives its day again.",
        )
    if OUT_OF_MEMORY.search(text):
        return PipelineError("Spark ran out of memory.", "Raise WILLOW_PIPELINE_MEMORY.")
    return _of_the_disk(error, text)


def _of_the_disk(error: Exception, text: str) -> PipelineError | None:
    if DISK_IS_FULL.search(text):
        place = WRITTEN_TO.search(text)
        where = f"of {place.group(1)}" if place else "of the archive, or of temporary files,"
        return PipelineError(f"The disk {where} is full.", "Nothing was lost. Make room there, and run again.")
    refused = _first_line(text) if isinstance(error, OSError) and error.errno in OF_FILES else None
    if _is_of_spark(error) and (found := NOT_WRITABLE.search(text)):
        refused = CAUSE.sub(r"\1", found.group(0)).strip()
    if refused is None:
        return None
    return PipelineError(
        f"A file or folder cannot be used: {refused}.",
        "Nothing was lost. Check WILLOW_PIPELINE_ARCHIVE, and who may write there; then run again.",
    )


def _of_postgres(error: psycopg.Error) -> PipelineError:
    if isinstance(error, psycopg.errors.UndefinedTable):
        return PipelineError("The database has no tables for the pipeline.", "Run `./willow manage migrate`.")
    return PipelineError(
        f"PostgreSQL refused: {_first_line(str(error))}.", "Nothing was lost. Check the server, and run again."
    )


def spark_reason(error: Exception) -> str:
    """The line of a Spark failure that a person can use."""
    text = str(error)
    found = DATABASE.search(text)
    causes = CAUSE.findall(text)
    return found.group(0) if found else _first_line(causes[-1] if causes else text)


def keep_trace(error: BaseException, environ: Mapping[str, str]) -> Path | None:
    """Write down everything about an error, if it is more than its sentence; return the file."""
    causes = [cause for cause in _chain(error) if not isinstance(cause, PipelineError)]
    details = "".join(cause.details for cause in _chain(error) if isinstance(cause, PipelineError))
    if not details and not any(_is_of_spark(cause) for cause in causes) and isinstance(error, PipelineError):
        return None
    folder = Path(environ.get("WILLOW_HOME") or tempfile.gettempdir()) / FOLDER
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    for old in sorted(folder.glob("*.txt"))[: -TRACES_KEPT + 1]:
        old.unlink(missing_ok=True)
    file = folder / f"{datetime.now(UTC):%Y%m%dT%H%M%S.%fZ}.txt"
    file.touch(mode=0o600)
    pages = ["".join(traceback.format_exception(cause)) for cause in (error, *causes) if cause.__traceback__]
    file.write_text("\n".join([str(error), *pages, details]), encoding="utf-8")
    return file


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error, and what it came from, also where Python was told not to show that."""
    step: BaseException | None = error
    while step is not None:
        yield step
        step = step.__cause__ or step.__context__


def _is_of_spark(error: BaseException) -> bool:
    return type(error).__module__.partition(".")[0] in SPARK


def _first_line(text: str) -> str:
    return (text.strip().splitlines() or ["no reason was given"])[0][:500]
