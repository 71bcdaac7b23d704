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

from pyspark.sql import SparkSession

from pipeline.driver import Driver, find_driver
from pipeline.java import find_java
from pipeline.options import Options

PACKAGE = Path(__file__).resolve().parent
# Spark takes a configuration without an appender for none, and loads its own.
QUIET = """
rootLogger.level = off
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %m%n
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
    session = builder.getOrCreate()
    if not options.is_local:
        session.sparkContext.addPyFile(str(_zipped_package(scratch)))
    return session


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
