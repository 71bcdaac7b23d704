"""One snapshot that takes files out and puts others in, and keeps the list of manifests short.

Iceberg's own overwrite keeps a manifest of what it deleted in every later snapshot; with a commit every few seconds
they would add up without end. It also quotes what it deletes: the least and the greatest value of each column of a
file, such as a name or the beginning of a body, which an erasure must not leave.
"""

import uuid

from pyiceberg.manifest import DataFile, ManifestEntry, ManifestFile
from pyiceberg.table import Transaction
from pyiceberg.table.snapshots import Operation
from pyiceberg.table.update.snapshot import _ManifestMergeManager, _OverwriteFiles

MANIFEST_BYTES = 8 * 1024 * 1024
MOST_MANIFESTS = 20  # then they become one


class Replacing(_OverwriteFiles):
    def __init__(self, transaction: Transaction) -> None:
        table = transaction._table
        super().__init__(
            operation=Operation.OVERWRITE if table.current_snapshot() else Operation.APPEND,
            transaction=transaction,
            io=table.io,
            commit_uuid=uuid.uuid4(),
        )

    def _deleted_entries(self) -> list[ManifestEntry]:
        return [
            ManifestEntry.from_args(
                status=entry.status,
                snapshot_id=entry.snapshot_id,
                sequence_number=entry.sequence_number,
                file_sequence_number=entry.file_sequence_number,
                data_file=_without_values(entry.data_file),
            )
            for entry in super()._deleted_entries()
        ]

    def _process_manifests(self, manifests: list[ManifestFile]) -> list[ManifestFile]:
        needed = [
            manifest
            for manifest in manifests
            if manifest.has_added_files()
            or manifest.has_existing_files()
            or manifest.added_snapshot_id == self._snapshot_id
        ]
        return _ManifestMergeManager(MANIFEST_BYTES, MOST_MANIFESTS, True, self).merge_manifests(needed)


def _without_values(file: DataFile) -> DataFile:
    bare = DataFile.from_args(
        content=file.content,
        file_path=file.file_path,
        file_format=file.file_format,
        partition=file.partition,
        record_count=file.record_count,
        file_size_in_bytes=file.file_size_in_bytes,
    )
    bare.spec_id = file.spec_id
    return bare
