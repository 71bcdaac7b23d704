"""Everything that a run does, in a thread beside the steps that follow the journal."""

import threading
from types import TracebackType

from pyspark import InheritableThread
from pyspark.sql import SparkSession

from pipeline.beside import Beside
from pipeline.database import connect
from pipeline.options import Options
from pipeline.progress import Progress
from pipeline.run import everything
from pipeline.runs import Run
from pipeline.session import in_small_tasks, share_of


class Round:
    """As a context: from its beginning to its end. What it failed with is raised at its end."""

    def __init__(self, spark: SparkSession, options: Options, record: Run, progress: Progress, beside: Beside) -> None:
        self._spark = spark
        self._options = options
        self._record = record
        self._progress = progress
        self._beside = beside
        self._failure: BaseException | None = None
        self._thread: threading.Thread = InheritableThread(target=self._run, session=spark)

    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def __enter__(self) -> "Round":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._thread.join()
        if self._failure is not None and error is None:
            raise self._failure

    def _run(self) -> None:
        """With connections and settings of its own. A core that comes free goes to a step first."""
        try:
            share_of(self._spark, "round")
            spark = in_small_tasks(self._spark)
            with connect(self._options.database_url) as connection:
                everything(spark, connection, self._options, self._record, self._progress, self._beside)
        except BaseException as failure:  # for the thread that waits for this one
            self._failure = failure
