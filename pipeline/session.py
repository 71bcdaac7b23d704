"""The Spark session: Java, driver and settings in one place."""

import importlib.util
import logging
import os
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from pipeline.database import JDBC_CLASS
from pipeline.driver import Driver, find_driver
from pipeline.errors import PipelineError
from pipeline.java import find_java
from pipeline.options import Options
from pipeline.starting import not_started, output_of_java

PACKAGE = Path(__file__).resolve().parent
# Spark takes a configuration without an appender for none, and loads its own. If the gateway's level is not that of the
# root, it sets the root's to WARN and says so.
QUIET = """
rootLogger.level = off
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %m%n
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = off
"""
# What the archive and the facts rely on, whoever started Spark.
NEEDED = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.compression.codec": "zstd",
    "spark.sql.sources.partitionOverwriteMode": "dynamic",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
}
SMALL_TASKS = {
    "spark.sql.shuffle.partitions": "32",
    "spark.sql.files.maxPartitionBytes": "8m",
    "spark.sql.adaptive.advisoryPartitionSizeInBytes": "8m",
}
ONE_TASK = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
}
PYTHON_LOGGERS = ("py4j", "DataFrameQueryContextLogger", "SQLQueryContextLogger")


@contextmanager
def spark_session(options: Options) -> Iterator[SparkSession]:
    with tempfile.TemporaryDirectory(prefix="willow-spark-") as scratch:
        session = start_session(options, Path(scratch))
        try:
            yield session
        finally:
            session.stop()


def start_session(options: Options, scratch: Path) -> SparkSession:
    """A session on the options' master; `scratch` is a folder that stays for as long as the session."""
    if not is_submitted():
        _prepare_environment(scratch)
    builder = SparkSession.builder.appName("Willow").master(options.master)
    for name, value in _settings(options, scratch).items():
        builder = builder.config(name, value)
    for name in PYTHON_LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    said = scratch / "java.log"
    try:
        with output_of_java(said):
            session = builder.getOrCreate()
    except (PySparkException, Py4JError, OSError) as error:
        raise not_started(error, said.read_text(errors="replace") if said.exists() else "", options.master) from None
    if is_submitted():
        _check_submitted_driver(session)
    elif not options.is_local:
        session.sparkContext.addPyFile(str(_zipped_package(scratch)))
    return session


def share_of(spark: SparkSession, pool: str) -> None:
    """From now on, what this thread asks of Spark has its share of the cores, beside what other pools ask."""
    spark.sparkContext.setLocalProperty("spark.scheduler.pool", pool)


def in_small_tasks(spark: SparkSession) -> SparkSession:
    """A session that cuts its work so small that nobody waits long for a core."""
    session = spark.newSession()
    for name, value in (NEEDED | SMALL_TASKS).items():
        session.conf.set(name, value)
    return session


def in_one_task(spark: SparkSession) -> SparkSession:
    """A session for plans that run again and again over few rows: work is not cut up, nor plans changed on the way."""
    session = spark.newSession()
    for name, value in (NEEDED | ONE_TASK).items():
        session.conf.set(name, value)
    return session


def is_submitted() -> bool:
    """Whether spark-submit started this process: then Java runs already, and this package came with --py-files."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def submitted_settings() -> dict[str, str]:
    """What spark-submit was told, and what its own files say."""
    SparkContext._ensure_initialized()
    return dict(SparkConf().getAll())


def chosen_master(argument: str | None) -> str | None:
    """What --master says, unless spark-submit has chosen already."""
    if not is_submitted():
        return argument
    if argument:
        raise PipelineError("spark-submit chooses the Spark to run on.", "Give --master to it, before the file.")
    return submitted_settings()["spark.master"]


def _check_submitted_driver(session: SparkSession) -> None:
    """Java runs already, so a driver can no more be added: spark-submit must have brought it."""
    jvm: Any = session.sparkContext._jvm
    try:
        jvm.org.apache.spark.sql.execution.datasources.jdbc.DriverRegistry.register(JDBC_CLASS)
    except Py4JJavaError:
        session.stop()
        raise PipelineError(
            "Spark has no JDBC driver for PostgreSQL.",
            "Give spark-submit one: `--jars postgresql-42.7.4.jar` or `--packages org.postgresql:postgresql:42.7.4`.",
        ) from None


def _prepare_environment(scratch: Path) -> None:
    """What Spark reads from the environment before it has a configuration."""
    os.environ["JAVA_HOME"] = str(find_java(os.environ, scratch / "java").home)
    os.environ["PYSPARK_PYTHON"] = sys.executable  # else the workers take another python3
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    spark = importlib.util.find_spec("pyspark")
    if spark and spark.submodule_search_locations:
        os.environ.setdefault("SPARK_HOME", spark.submodule_search_locations[0])


def _settings(options: Options, scratch: Path) -> dict[str, str]:
    wished = {
        "spark.sql.shuffle.partitions": "4" if options.is_local else "16",  # 200 of them cost more than the work
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.python.sql.dataFrameDebugging.enabled": "false",  # looks at the Python stack for every column
    }
    if is_submitted():
        return wished | submitted_settings() | NEEDED
    settings = wished | _own_settings(options, find_driver(os.environ), scratch) | NEEDED
    for name, value in options.spark.items():
        adds = name.endswith("JavaOptions") and name in settings
        settings[name] = f"{settings[name]} {value}" if adds else value
    return settings


def _own_settings(options: Options, driver: Driver, scratch: Path) -> dict[str, str]:
    """For a Java that we start."""
    settings = {
        "spark.driver.memory": options.memory,
        "spark.scheduler.mode": "FAIR",  # between threads: hours and days are computed beside minutes
        "spark.sql.codegen.cache.maxEntries": "1000",  # of generated code: a step needs its own again and again
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.extraJavaOptions": f"-Duser.timezone=UTC -Dlog4j2.configurationFile={_quiet_logging(scratch)}",
        "spark.executor.extraJavaOptions": "-Duser.timezone=UTC",
    }
    if options.is_local:
        settings["spark.local.dir"] = str(scratch)
    if driver.coordinate:
        settings["spark.jars.packages"] = driver.coordinate
    elif driver.jar:
        settings["spark.jars"] = str(driver.jar)
        settings["spark.driver.extraClassPath"] = str(driver.jar)
    return settings


def _quiet_logging(scratch: Path) -> str:
    """What goes wrong is said by us, in one sentence; Spark says it in a hundred lines."""
    file = scratch / "log4j2.properties"
    file.write_text(QUIET)
    return file.as_uri()


def _zipped_package(scratch: Path) -> Path:
    """This package, for the workers of a cluster."""
    archive = scratch / "pipeline.zip"
    with zipfile.ZipFile(archive, "w") as writer:
        for file in sorted(PACKAGE.rglob("*.py")):
            writer.write(file, Path("pipeline") / file.relative_to(PACKAGE))
    return archive
