"""Exported C in float32 beside the reference engine, on a million random events of random networks.

Run: python benchmarks/random_networks_in_c.py [--events 1000000] [--json FILE]

Networks of 1 to 4 layers of any kind, that decide by votes or by evidence, are drawn as for the tests. Up to the first
near-tie of a recording (two units, or a unit and its threshold, within 1e-4 in squared distance) every winner, every
rejection and, if there is none, the decision must be the same; what comes after a near-tie is counted apart.
`python -m benchmarks.microcontroller_tables` writes the figures into docs/howto/microcontroller.md.
"""

import argparse
import json
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
from hypothesis import HealthCheck, Phase, given, seed, settings

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.export.cases import expected, network_of, run
from tests.random_networks import cases

from timesurf.engines import pack
from timesurf.events import Recordings
from timesurf.results import machine

RECORDINGS, EVENTS = 100, 100  # per network, and of each
NEAR = 1e-4
SEED = 0  # of networks and events


def longer(case, rng):
    """The same network with more events: ties in time, events on the border."""
    field, n = case.stages[0].field, RECORDINGS * EVENTS
    border = rng.random(n) < 0.3
    coords = [np.where(border, rng.choice([0, size - 1], n), rng.integers(0, size, n)) for size in field]
    t = np.cumsum(rng.choice([0, 0, 1, 3, 50], (RECORDINGS, EVENTS)), axis=1).ravel()
    polarities = case.stages[0].polarities
    offsets = np.arange(RECORDINGS + 1) * EVENTS
    made = Recordings(coords, t, rng.integers(0, polarities, n), offsets, field=field, polarities=polarities)
    return replace(case, recordings=made, batch=pack(made, np.full(RECORDINGS, -1)))


def compare(case, counts):
    """Add what is the same, and what is not, to the counts."""
    ran, decided = run(network_of(case), case.recordings, options=("-O2",))
    right = expected(case)
    reached = right.winner >= 0
    same = (ran.passed == right.passed) & ((ran.fired == right.winner) | ~reached).all(axis=1)
    for r, (a, b) in enumerate(pairwise(case.batch.offsets)):
        near = np.flatnonzero(right.margin[a:b] < NEAR)
        stop = a + near[0] if len(near) else b
        close = len(near) > 0 or right.lead[r] < NEAR * (b - a)
        found = {
            "events": b - a, "before": stop - a, "before_differ": (~same[a:stop]).sum(), "near": len(near),
            "after_differ": (~same[stop:b]).sum(), "recordings": 1, "plain": not close,
            "plain_differ": not close and decided[r] != right.decisions[r],
            "decisions_differ": decided[r] != right.decisions[r],
        }  # fmt: skip
        for name, value in found.items():
            counts[name] = counts.get(name, 0) + int(value)
    counts["networks"] = counts.get("networks", 0) + 1


def measured(events):
    """Counts over so many events of random networks."""
    counts, rng = {}, np.random.default_rng(SEED)
    networks = -(-events // (RECORDINGS * EVENTS))

    @seed(SEED)
    @settings(
        max_examples=networks, deadline=None, database=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(case=cases())
    def every(case):
        compare(longer(case, rng), counts)
        print(f"\r{counts['events']:,} events", end="", file=sys.stderr, flush=True)

    every()
    print(file=sys.stderr)
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    counts = measured(args.events)
    print(
        f"{counts['events']:,} events of {counts['networks']} networks\n"
        f"before the first near-tie of their recording: {counts['before']:,}, different: {counts['before_differ']}\n"
        f"near-ties: {counts['near']:,}; events from the first of them on that differ: {counts['after_differ']:,}\n"
        f"recordings without a near-tie: {counts['plain']:,}, decisions that differ: {counts['plain_differ']}\n"
        f"all recordings: {counts['recordings']:,}, decisions that differ: {counts['decisions_differ']}"
    )
    if args.json:
        result = {"counts": counts, "near": NEAR, "seed": SEED, "machine": machine.describe()}
        args.json.write_text(json.dumps(result, indent=1) + "\n", "utf-8")
    sys.exit(1 if counts["before_differ"] or counts["plain_differ"] else 0)


if __name__ == "__main__":
    main()
