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

    def path(self, url: str) -> str:
        return url.removeprefix(f"{self.root}/")

    def exists(self, path: str) -> bool:
        return bool(self._system.exists(self._at(path)))

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

    def below(self, path: str) -> dict[str, int]:
        """All files in a folder and its folders, and when each was written (seconds since 1970)."""
        if not self.exists(path):
            return {}
        found, listed = {}, self._system.listFiles(self._at(path), True)
        while listed.hasNext():
            status = listed.next()
            name = str(status.getPath().toUri().getPath())
            found[name[name.index(f"/{path}/") + 1 :]] = int(status.getModificationTime()) // 1000
        return found

    def length(self, path: str) -> int | None:
        """Bytes of a file; none if it is not there."""
        at = self._at(path)
        return int(self._system.getFileStatus(at).getLen()) if self._system.exists(at) else None

    def size(self, path: str) -> int:
        """Bytes of all files in a folder."""
        return int(self._system.getContentSummary(self._at(path)).getLength())

    def _at(self, path: str) -> Any:
        return self._path(self.url(path))
