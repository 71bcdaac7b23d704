"""Histories outlive those who write them."""

from pathlib import Path

from faults.checker import SAFETY, check, together
from faults.history import Clock, Kind, Recorder, history_of, read_history
from faults.remains import Remains
from faults.report import findings, table


def test_a_history_is_read_as_it_was_written(tmp_path: Path) -> None:
    clock = Clock()
    recorders = [Recorder(tmp_path / name, clock) for name in ("one", "two")]
    written = [
        recorders[number % 2].note(f"client {number}", Kind.RECEIVED, shard=1, index=number, seconds=0.5, ended=True)
        for number in range(4)
    ]
    assert read_history([tmp_path / "two", tmp_path / "one"]) == written


def test_many_events_in_one_line_are_read_one_by_one(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "history", Clock())
    recorder.note_many("client", Kind.POST, {"label": [1, 2], "body": ["a", "b"]}, queue="q", connection=3)
    events = read_history([tmp_path / "history"])
    assert [(event.label, event.body, event.queue, event.connection) for event in events] == [
        (1, "a", "q", 3),
        (2, "b", "q", 3),
    ]


def test_what_is_about_a_queue_that_is_kept_apart_has_a_file_of_its_own(tmp_path: Path) -> None:
    file = tmp_path / "history.jsonl"
    recorder = Recorder(file, Clock(), apart=["bulk"])
    recorder.note("client", Kind.CONNECTED)
    recorder.note("client", Kind.POST, queue="bulk")
    recorder.note("client", Kind.POST, queue="other")
    assert [event.queue for event in read_history([file])] == ["", "other"]
    assert [event.queue for event in read_history([history_of(file, "bulk")])] == ["bulk"]


def test_judgements_of_parts_are_added_up(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "history", Clock())
    recorder.note("client", Kind.CONNECTED)
    recorder.note("client", Kind.RECEIVED, body="never posted", shard=1, index=1)
    one = check(read_history([tmp_path / "history"]), Remains(), judges=SAFETY)
    both = together([one, one])
    assert len(both["ghosts"].broken) == 2
    assert (both.counts["received"], both.counts["connected"]) == (2, 1)


def test_the_torn_last_line_of_a_killed_client_is_left_out(tmp_path: Path) -> None:
    file = tmp_path / "history"
    recorder = Recorder(file, Clock())
    written = recorder.note("client", Kind.POST, body="m")
    with file.open("ab") as torn:
        torn.write(b'{"at": 1.0, "cli')
    assert read_history([file]) == [written]


def test_the_table_names_every_verdict_and_shows_what_is_broken(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "history", Clock())
    recorder.note("client", Kind.RECEIVED, body="never posted", shard=1, index=1)
    judgement = check(read_history([tmp_path / "history"]), Remains(), judges=SAFETY)
    assert not judgement.holds
    assert "| ghosts | 1 |  |" in table(judgement)
    assert [line.partition(":")[0] for line in findings(judgement)] == ["ghosts"]
    assert all(f"| {name} |" in table(judgement) for name in SAFETY)
