"""A table's past: which snapshots are kept for readers that look back, and what goes with the others.

All of the last hour are kept, so that whoever reads one has the time to finish; the last of each hour for a day; the
last of each day for a week. A database that is restored from a dump finds its metadata, or that of shortly before.
"""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta

from pyiceberg.manifest import ManifestFile
from pyiceberg.table.snapshots import Snapshot

from pipeline.archive.files import Files
from pipeline.archive.leftovers import retire
from pipeline.database import Connection
from pipeline.lake.table import LakeTable

ALL_FOR, HOURLY_FOR, DAILY_FOR = timedelta(hours=1), timedelta(days=1), timedelta(days=7)
VERSION = re.compile(r"/([0-9]+)-[0-9a-f-]+\.metadata\.json$")


def kept_times(times: Iterable[datetime], now: datetime) -> set[datetime]:
    """Which of the moments of commits are kept: the newest always, the older the fewer."""
    ordered = sorted(times, reverse=True)
    kept, seen = set(ordered[:1]), set()
    for time in ordered:
        age = now - time
        if age <= ALL_FOR:
            kept.add(time)
            continue
        period = f"{time:%Y%m%d%H}" if age <= HOURLY_FOR else f"{time:%Y%m%d}" if age <= DAILY_FOR else None
        if period and period not in seen:
            kept.add(time)
            seen.add(period)
    return kept


def all_data_files(lake: LakeTable, snapshots: Iterable[Snapshot] | None = None) -> set[str]:
    """The URLs of the files of all snapshots, or of some."""
    manifests = _manifests(lake, lake.table.metadata.snapshots if snapshots is None else snapshots)
    return {
        entry.data_file.file_path
        for manifest in manifests.values()
        for entry in manifest.fetch_manifest_entry(lake.table.io)
    }


def forget_past(connection: Connection, lake: LakeTable, files: Files, *, everything: bool = False) -> None:
    """Drop snapshots that nobody needs any more, with the files that only they have.

    With `everything`, only the present stays: for what must be nowhere.
    """
    snapshots = list(lake.table.metadata.snapshots)
    times = {snapshot.snapshot_id: _time(snapshot.timestamp_ms / 1000) for snapshot in snapshots}
    kept = set() if everything else kept_times(times.values(), datetime.now(UTC))
    current = lake.table.metadata.current_snapshot_id
    gone = [each for each in snapshots if times[each.snapshot_id] not in kept and each.snapshot_id != current]
    if gone:
        stay = [snapshot for snapshot in snapshots if snapshot not in gone]
        unused = all_data_files(lake, gone) - all_data_files(lake, stay)
        move = lake.prepare_forgetting([snapshot.snapshot_id for snapshot in gone])
        with connection.transaction():
            move.make(connection)
            retire(connection, sorted(files.path(url) for url in unused))
    _drop_metadata(lake, files, everything=everything)


def metadata_left(files: Files, location: str, old_root: str) -> str | None:
    """The metadata that a pointer names or, if that is gone, the last before it that is left; as a path.

    For a database that was restored, and for an archive that was moved here from `old_root`.
    """
    path = location.removeprefix(f"{old_root}/")
    if files.exists(path):
        return path
    folder = path.rpartition("/")[0]
    left = sorted((_version(each), each) for each in files.below(folder) if VERSION.search(each))
    before = [each for version, each in left if version <= _version(path)]
    return before[-1] if before else None


def _manifests(lake: LakeTable, snapshots: Iterable[Snapshot]) -> Mapping[str, ManifestFile]:
    """Snapshots share most of their manifests: each once."""
    return {manifest.manifest_path: manifest for one in snapshots for manifest in one.manifests(lake.table.io)}


def _drop_metadata(lake: LakeTable, files: Files, *, everything: bool) -> None:
    """Delete what neither the present nor a kept past is made of, and what killed runs wrote in vain."""
    snapshots = lake.table.metadata.snapshots
    needed = {snapshot.manifest_list for snapshot in snapshots} | set(_manifests(lake, snapshots))
    needed = {files.path(url) for url in (*needed, lake.table.metadata_location)}
    found = files.below(f"{files.path(lake.location)}/metadata")
    versions = {path: _time(seconds) for path, seconds in found.items() if VERSION.search(path)}
    kept = set() if everything else kept_times(versions.values(), datetime.now(UTC))
    needed |= {path for path, time in versions.items() if time in kept}
    for path in found:
        if path not in needed:
            files.delete(path)


def _time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _version(path: str) -> int:
    found = VERSION.search(path)
    return int(found.group(1)) if found else -1
