"""`./willow faults`: see --help."""

import argparse
import random
import sys
from pathlib import Path

from faults.peers.adapters import ADAPTERS
from faults.peers.run import judge_peer
from faults.recovery import seconds_to_recover
from faults.report import findings, summary, table, table_of_times
from faults.willow.run import Plan, carry_out
from faults.willow.sizes.command import main as measure_load
from faults.willow.troubles.clocks import CLOCK_TROUBLES
from faults.willow.troubles.disk import DISK_TROUBLES
from faults.willow.troubles.failover import FAILOVER_TROUBLES, LOSING_TROUBLES
from faults.willow.troubles.network import NETWORK_TROUBLES
from faults.willow.troubles.processes import PROCESS_TROUBLES
from faults.willow.troubles.storage import STORAGE_TROUBLES

TROUBLES = (
    *PROCESS_TROUBLES,
    *STORAGE_TROUBLES,
    *NETWORK_TROUBLES,
    *DISK_TROUBLES,
    *CLOCK_TROUBLES,
    *FAILOVER_TROUBLES,
)


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["load"]:
        return measure_load(arguments[1:])
    parser = argparse.ArgumentParser(
        prog="./willow faults",
        description="Faults, and proof that nothing is lost. `./willow faults load` measures large loads instead.",
    )
    parser.add_argument("--minutes", type=float, help="how long faults happen (2, unless --faults or --messages)")
    parser.add_argument("--faults", type=int, default=0, help="go on until there were so many")
    parser.add_argument("--messages", type=int, default=0, help="go on until so many were worked off in bulk")
    parser.add_argument("--seed", type=int, help="chooses the faults; a run prints its own")
    parser.add_argument("--rate", type=float, default=100.0, help="posts a second, one by one (100)")
    parser.add_argument("--bulk-rate", type=float, default=20_000.0, help="most posts a second in bulk (20000)")
    parser.add_argument("--upgrade-from", metavar="REVISION", help="begin with this version, and upgrade under load")
    parser.add_argument("--only", help="faults whose name has this text")
    parser.add_argument("--list", action="store_true", help="name the faults and end")
    parser.add_argument("--logs", type=Path, help="a folder for the logs of brokers and reapers")
    parser.add_argument("--peer", choices=ADAPTERS, help="judge this queue instead of Willow")
    chosen = parser.parse_args(arguments)
    if chosen.list:
        print("\n".join(trouble.name for trouble in (*TROUBLES, *LOSING_TROUBLES)))
        return 0
    troubles = [trouble for trouble in TROUBLES if not chosen.only]
    if chosen.only:  # one that may lose what was told `sync` happens only when it is asked for
        troubles = [trouble for trouble in (*TROUBLES, *LOSING_TROUBLES) if chosen.only in trouble.name]
    if not troubles:
        parser.error(f"--only: no fault has {chosen.only!r} in its name; --list shows them")
    seed = random.randrange(1_000_000) if chosen.seed is None else chosen.seed
    minutes = 2.0 if chosen.minutes is None and not (chosen.faults or chosen.messages) else chosen.minutes
    if chosen.peer:
        return _judge_peer(chosen.peer, seed, minutes or 2.0, chosen.rate)
    length = f"--minutes {minutes:g}" if minutes else f"--faults {chosen.faults} --messages {chosen.messages}"
    print(
        f"Seed {seed}: ./willow faults {length} --seed {seed} --rate {chosen.rate:g} --bulk-rate {chosen.bulk_rate:g}",
        flush=True,
    )
    seconds = minutes * 60 if minutes else None
    plan = Plan(
        troubles,
        seed,
        chosen.rate,
        chosen.bulk_rate,
        seconds,
        chosen.faults,
        chosen.messages,
        upgrade_from=chosen.upgrade_from,
    )
    outcome = carry_out(plan, lambda line: print(line, flush=True))
    if chosen.logs:
        chosen.logs.mkdir(parents=True, exist_ok=True)
        for name, text in outcome.logs.items():
            (chosen.logs / name).write_text(text)
    judgement, recovered = outcome.judgement, seconds_to_recover(outcome.received, outcome.faults)
    print(summary(judgement, outcome.faults), table(judgement), "", sep="\n")
    print(table_of_times(recovered, outcome.faults, outcome.after_disconnects, outcome.after_leases))
    print("\n".join(findings(judgement)))
    return 0 if judgement.holds else 1


def _judge_peer(name: str, seed: int, minutes: float, rate: float) -> int:
    """A peer that breaks a verdict is no error of this program."""
    print(
        f"Seed {seed}: ./willow faults --peer '{name}' --minutes {minutes:g} --seed {seed} --rate {rate:g}", flush=True
    )
    judgement, faults = judge_peer(name, seed, minutes * 60, rate, lambda line: print(line, flush=True))
    print(summary(judgement, faults), table(judgement), *findings(judgement), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
