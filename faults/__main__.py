"""`./willow faults`: see --help."""

import argparse
import random
import sys
from pathlib import Path

from faults.peers.run import PEERS, judge_peer
from faults.recovery import seconds_to_recover
from faults.report import findings, summary, table
from faults.willow.run import Plan, carry_out
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
    parser = argparse.ArgumentParser(prog="./willow faults", description="Faults, and proof that nothing is lost.")
    parser.add_argument("--minutes", type=float, default=2.0, help="how long faults happen (2)")
    parser.add_argument("--seed", type=int, help="chooses the faults; a run prints its own")
    parser.add_argument("--rate", type=float, default=100.0, help="posts a second (100)")
    parser.add_argument("--only", help="faults whose name has this text")
    parser.add_argument("--list", action="store_true", help="name the faults and end")
    parser.add_argument("--logs", type=Path, help="a folder for the logs of brokers and reapers")
    parser.add_argument("--peer", choices=PEERS, help="judge this queue instead of Willow")
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
    if chosen.peer:
        return _judge_peer(chosen.peer, seed, chosen.minutes, chosen.rate)
    print(f"Seed {seed}: ./willow faults --minutes {chosen.minutes:g} --seed {seed} --rate {chosen.rate:g}", flush=True)
    plan = Plan(troubles, seed, chosen.minutes * 60, chosen.rate)
    outcome = carry_out(plan, lambda line: print(line, flush=True))
    if chosen.logs:
        chosen.logs.mkdir(parents=True, exist_ok=True)
        for name, text in outcome.logs.items():
            (chosen.logs / name).write_text(text)
    print(summary(outcome.judgement, outcome.faults))
    print(table(outcome.judgement))
    print(_recovery(seconds_to_recover(outcome.history, outcome.faults)))
    print("\n".join(findings(outcome.judgement)))
    return 0 if outcome.judgement.holds else 1


def _judge_peer(name: str, seed: int, minutes: float, rate: float) -> int:
    """A peer that breaks a verdict is no error of this program."""
    print(
        f"Seed {seed}: ./willow faults --peer '{name}' --minutes {minutes:g} --seed {seed} --rate {rate:g}", flush=True
    )
    judgement, faults = judge_peer(name, seed, minutes * 60, rate, lambda line: print(line, flush=True))
    print(summary(judgement, faults), table(judgement), *findings(judgement), sep="\n")
    return 0


def _recovery(seconds: list[float | None]) -> str:
    known = sorted(after for after in seconds if after is not None)
    if not known:
        return "Served as before: after no fault."
    middle = known[len(known) // 2]
    return (
        f"Served as before within {middle:.1f} s (median) and {known[-1]:.1f} s (most) of a fault's end, "
        f"after {len(known)} of {len(seconds)} faults within 30 s."
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
