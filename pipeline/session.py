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

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from pipeline.driver import Driver, find_driver
from pipeline.errors import PipelineError
from pipeline.java import find_java
from pipeline.options import Options

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
    driver = find_driver(os.environ)
    _prepare_environment(scratch)
    builder = SparkSession.builder.appName("Willow").master(options.master)
    for name, value in _settings(options, driver, scratch).items():
        builder = builder.config(name, value)
    for name in PYTHON_LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        session = builder.getOrCreate()
    except (PySparkException, Py4JJavaError) as error:
        raise PipelineError(
            f"Spark could not be started on {options.master}: {_why_not_started(error)}",
            "Check --master, WILLOW_PIPELINE_MASTER, WILLOW_PIPELINE_MEMORY and WILLOW_PIPELINE_DRIVER.",
        ) from None
    if not options.is_local:
        session.sparkContext.addPyFile(str(_zipped_package(scratch)))
    return session


def _why_not_started(error: Exception) -> str:
    """In Java's own words, if Java came so far."""
    said = error.java_exception.getMessage() if isinstance(error, Py4JJavaError) else str(error)
    return str(said or error).strip().splitlines()[0]


def _prepare_environment(scratch: Path) -> None:
    """What Spark reads from the environment before it has a configuration."""
    if "SPARK_ENV_LOADED" in os.environ:
        return  # spark-submit has chosen Java and Python already
    os.environ["JAVA_HOME"] = str(find_java(os.environ, scratch / "java").home)
    os.environ["PYSPARK_PYTHON"] = sys.executable  # else the workers take another python3
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    spark = importlib.util.find_spec("pyspark")
    if spark and spark.submodule_search_locations:
        os.environ.setdefault("SPARK_HOME", spark.submodule_search_locations[0])


def _settings(options: Options, driver: Driver, scratch: Path) -> dict[str, str]:
    settings = {
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "4" if options.is_local else "16",  # 200 of them cost more than the work
        "spark.sql.parquet.compression.codec": "zstd",
        "spark.sql.sources.partitionOverwriteMode": "dynamic",
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        "spark.driver.memory": options.memory,
        "spark.ui.enabled": "false",
        "spark.python.sql.dataFrameDebugging.enabled": "false",  # looks at the Python stack for every column
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
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
    for name, value in options.spark.items():
        adds = name.endswith("JavaOptions") and name in settings
        settings[name] = f"{settings[name]} {value}" if adds else value
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
