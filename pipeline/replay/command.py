"""`./willow pipeline replay`: says what would be posted, and posts it with --go."""

import argparse
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pyspark.sql import DataFrame

from pipeline.database import connect
from pipeline.errors import PipelineError
from pipeline.options import options_from
from pipeline.progress import Progress
from pipeline.replay.posting import Target, post_all
from pipeline.replay.record import Record
from pipeline.replay.selection import Found, Wanted, in_order, look, select
from pipeline.report import wording
from pipeline.schemas import ENDS_OF_LIFE
from pipeline.session import spark_session

DEFAULT_RATE = 100.0  # messages per second
DEFAULT_DEDUPE_SECONDS = 300.0  # WILLOW_DEDUPE_SECONDS
SURELY_REMEMBERED = 0.8  # of that time: clocks and batches have their tolerance
MOST_REFUSALS_SHOWN = 20
WHY_NO_BODY = "their queue did not keep bodies (`keep_bodies`) when they ended, or they were dropped."
WHY_DUPLICATE = "when they were posted, a message with the same `unique` text lived in the queue."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--queue", required=True, help="the queue whose messages are posted again")
    parser.add_argument("--tags", type=_tags, help="only of the queue with exactly these tags, as a,b; '' for none")
    parser.add_argument("--from", dest="since", type=_time, required=True, help="ended at or after this time (UTC)")
    parser.add_argument("--to", dest="until", type=_time, required=True, help="ended before this time (UTC)")
    parser.add_argument(
        "--outcome", action="append", choices=ENDS_OF_LIFE, help="only with this outcome; can be repeated"
    )
    parser.add_argument("--into", required=True, help="the queue that they are posted to")
    parser.add_argument("--into-tags", type=_tags, help="its tags, as a,b; if left out, each message keeps its tags")
    parser.add_argument("--rate", type=_rate, default=DEFAULT_RATE, help="messages per second (%(default)g)")
    parser.add_argument("--url", help="the broker (ws://127.0.0.1:<WILLOW_PORT>/connect/)")
    parser.add_argument("--key-file", type=Path, help="a file with the key to connect with")
    parser.add_argument(
        "--unsure", choices=("post", "skip"), help="what to do with messages that may be posted already"
    )
    parser.add_argument("--again", action="store_true", help="post everything once more, even what was posted before")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--dry-run", action="store_true", help="only say what would be posted (the default)")
    how.add_argument("--go", action="store_true", help="post")
    parser.add_argument("--master", help="the Spark to run on (WILLOW_PIPELINE_MASTER)")


def main(arguments: argparse.Namespace) -> int:
    wanted, target = _wanted(arguments), _target(arguments)
    options = options_from(os.environ, master=arguments.master)
    folder = Path(os.environ.get("WILLOW_HOME") or ".willow") / "replays"
    about = {**wanted.words(), "into": target.queue, "into_tags": target.tags, "archive": options.archive}
    progress = Progress()
    with spark_session(options) as spark, connect(options.database_url) as connection:
        messages = select(spark, connection, options.archive, wanted)
        found = look(messages)
        record = Record.open(folder, about) if arguments.go else Record.look_at(folder, about)
        try:
            if arguments.go:
                _go(progress, messages, found, target, record, arguments)
            else:
                _say_what_is_there(progress, wanted, found, record, arguments.rate)
                progress.say(f"This was a dry run: nothing was posted. --go posts into {target.queue}.")
        finally:
            record.close()
    return 0


def _go(
    progress: Progress, messages: DataFrame, found: Found, target: Target, record: Record, how: argparse.Namespace
) -> None:
    if how.again:
        record.forget()
    _decide(record, how.unsure)
    before = len(record.posted)
    try:
        post_all(
            in_order(messages),
            target,
            record,
            rate=how.rate,
            told=lambda: progress.step("Posted", record.settled, found.with_body),
        )
    finally:
        _say_what_was_done(progress, found, target, record, before)


def _decide(record: Record, unsure: str | None) -> None:
    """Messages that were under way when a run broke off, longer ago than the broker remembers."""
    remembered = float(os.environ.get("WILLOW_DEDUPE_SECONDS") or DEFAULT_DEDUPE_SECONDS)
    names = record.unsure(timedelta(seconds=remembered * SURELY_REMEMBERED), datetime.now(UTC))
    if names and unsure is None:
        raise PipelineError(
            f"{len(names):,} messages were in progress when the last run stopped, and the broker may no longer know "
            "whether it has them.",
            "`--unsure post` posts them, perhaps a second time; `--unsure skip` leaves them out.",
        )
    if unsure == "skip":
        record.answered((), dict.fromkeys(names, "left out: it may have been posted before"))
    elif names:
        record.let_go(names)


def _say_what_is_there(progress: Progress, wanted: Wanted, found: Found, record: Record, rate: float) -> None:
    left = found.with_body - record.settled
    progress.say(f"{found.messages:,} messages of {wanted.queue} ended from {wanted.since} to {wanted.until}.")
    if found.first and found.last:
        progress.say(f"The first ended at {found.first}, the last at {found.last}.")
    progress.say(f"{found.with_body:,} have a body, {wording.size(found.bytes)} in all.")
    if found.with_body < found.messages:
        progress.say(f"{found.messages - found.with_body:,} have none and cannot be posted: {WHY_NO_BODY}")
    if record.settled:
        others = record.settled - len(record.posted)
        progress.say(f"{len(record.posted):,} were posted before, {others:,} were refused, left out or duplicates.")
    progress.say(f"{left:,} are to be posted, in about {wording.duration(left / rate)} at {rate:g} per second.")


def _say_what_was_done(progress: Progress, found: Found, target: Target, record: Record, before: int) -> None:
    now = len(record.posted) - before
    left = found.with_body - record.settled
    progress.say(f"Posted {now:,} messages into {target.queue} now, {before:,} before.")
    if found.with_body < found.messages:
        progress.say(f"{found.messages - found.with_body:,} have no body and were not posted: {WHY_NO_BODY}")
    if record.duplicates:
        progress.say(f"{len(record.duplicates):,} are duplicates: {WHY_DUPLICATE}")
    for (queue_id, index), why in sorted(record.refused.items())[:MOST_REFUSALS_SHOWN]:
        progress.say(f"Not posted: message {index} of queue number {queue_id}: {why}")
    if len(record.refused) > MOST_REFUSALS_SHOWN:
        progress.say(f"Not posted: {len(record.refused) - MOST_REFUSALS_SHOWN:,} more.")
    if left:
        progress.say(f"{left:,} are not posted yet. Run the same command again to continue.")
    progress.say(f"{record.file} has the details of each message.")


def _wanted(arguments: argparse.Namespace) -> Wanted:
    if arguments.since >= arguments.until:
        raise PipelineError(f"--from is {arguments.since}, which is not before --to, {arguments.until}.")
    if arguments.until > datetime.now(UTC):
        raise PipelineError(f"--to is {arguments.until}, which is still to come.", "Choose a time that has passed.")
    outcomes = tuple(sorted(set(arguments.outcome or ENDS_OF_LIFE)))
    return Wanted(arguments.queue, arguments.tags, arguments.since, arguments.until, outcomes)


def _target(arguments: argparse.Namespace) -> Target:
    url = arguments.url or f"ws://127.0.0.1:{os.environ.get('WILLOW_PORT') or 8080}/connect/"
    try:
        key = arguments.key_file.read_text(encoding="utf-8").strip() if arguments.key_file else None
    except OSError as error:
        raise PipelineError(f"--key-file {arguments.key_file} cannot be read: {error.strerror}.") from None
    return Target(url, key, arguments.into, arguments.into_tags)


def _time(text: str) -> datetime:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time such as 2026-01-31T12:00") from None
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)


def _rate(text: str) -> float:
    try:
        rate = float(text)
    except ValueError:
        rate = 0.0
    if not 0 < rate < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of messages per second above 0")
    return rate


def _tags(text: str) -> tuple[str, ...]:
    return tuple(sorted({tag.strip() for tag in text.split(",") if tag.strip()}))
