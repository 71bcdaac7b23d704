"""Files of the archive, on whatever file system its URL names: Hadoop's own classes, which Spark brings along."""

from typing import Any

from pyspark.sql import SparkSession

from pipeline.errors import PipelineError


class Files:
    """Paths are relative to the archive."""

    def __init__(self, spark: SparkSession, root: str) -> None:
        jvm: Any = spark.sparkContext._jvm
        configuration = spark.sparkContext._jsc.hadoopConfiguration()
        self.root = root
        self._path = jvm.org.apache.hadoop.fs.Path
        self._system = self._path(root).getFileSystem(configuration)

    def url(self, path: str) -> str:
        return f"{self.root}/{path}"

    def exists(self, path: str) -> bool:
        return bool(self._system.exists(self._at(path)))

    def size(self, path: str) -> int:
        return int(self._system.getFileStatus(self._at(path)).getLen())

    def move(self, source: str, target: str) -> None:
        self._system.mkdirs(self._at(target).getParent())
        if not self._system.rename(self._at(source), self._at(target)):
            raise PipelineError(
                f"{self.url(source)} could not be moved to {self.url(target)}.",
                "Check the permissions there, and run again.",
            )

    def delete(self, path: str) -> None:
        """With all that is in it; one that is not there is fine."""
        self._system.delete(self._at(path), True)

    def folders(self, path: str) -> list[str]:
        """The names of the folders in a folder."""
        return [status.getPath().getName() for status in self._listed(path) if status.isDirectory()]

    def files(self, path: str) -> list[str]:
        """The names of the files in a folder."""
        return [status.getPath().getName() for status in self._listed(path) if status.isFile()]

    def _listed(self, path: str) -> list[Any]:
        return list(self._system.listStatus(self._at(path))) if self.exists(path) else []

    def _at(self, path: str) -> Any:
        return self._path(self.url(path))
