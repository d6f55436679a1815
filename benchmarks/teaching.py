"""Teach a new digit to a live network: recording accuracy on it, and on the digits that the network knew.

A network is trained on real recordings without the digit 9. A session is then shown 20 recordings of 9, with their
label. In between it may see recordings of the other digits again, from those that it was trained on: `--rehearse 18`
shows one of each after every recording of 9, 0 shows none. `--times 2` shows the whole lesson twice. Nothing of the
test split is used before the end.

    python benchmarks/teaching.py nmnist_train_1000.npz --seeds 10 --json benchmarks/results/teaching.json
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from timesurf import Network, Recordings, Session
from timesurf.datasets import nmnist
from timesurf.results import machine

NEW = 9
SHOWN = 20  # recordings of the new digit
PAUSE = 1_000_000  # us between two recordings


def split(labels: Any, test: int, seed: int) -> tuple[Any, Any, Any]:
    """Recordings to train on, to teach the new digit with, and to test on."""
    order = np.random.default_rng(seed).permutation(len(labels))
    rest = order[test:]
    return rest[labels[rest] != NEW], rest[labels[rest] == NEW][:SHOWN], order[:test]


def lessons(labels: Any, old: Any, new: Any, rehearse: int, seed: int) -> list[int]:
    """The recordings of the new digit in their order, and between them `rehearse` old ones per two, class by class."""
    rng = np.random.default_rng([seed, 1])
    by_class = [rng.permutation(old[labels[old] == c]) for c in np.unique(labels[old])]
    turns = [of_class[n] for n in range(min(map(len, by_class))) for of_class in by_class]
    shown: list[int] = []
    for n, recording in enumerate(new):
        shown.append(int(recording))
        shown += [int(r) for r in turns[n * rehearse // 2 : (n + 1) * rehearse // 2]]
    return shown


def teach(network: Network, data: Recordings, shown: list[int], pace: float) -> Network:
    """The network after a session in which these recordings were shown with their labels."""
    session, later = Session(network, teach=network.rule.scaled(pace), recent="1 s"), 0

    def show(r: int, label: Any) -> None:
        nonlocal later
        (events,) = data[r].to_structured()
        events = events.astype([(name, np.int64) for name in events.dtype.names])
        events["t"] += later - events["t"][0]
        later = int(events["t"][-1]) + PAUSE
        session.cut()
        session.push(events, label=label)

    show(shown[0], None)
    session.add_class(NEW)
    for r in shown:
        show(r, int(data.labels[r]))
    return session.adapted()


def accuracy(network: Network, data: Recordings) -> tuple[float, float]:
    """Recording accuracy on the old digits, and on the new one, decided as the network decides: by evidence."""
    labels = np.asarray(data.labels)
    decided = network.predict(data).classes
    right = (decided >= 0) & (network.classes[decided] == labels)
    return float(right[labels != NEW].mean()), float(right[labels == NEW].mean())


def run(
    path: Path, seeds: int, first: int, test: int, rehearse: int, times: int, pace: float, models: Path | None
) -> dict[str, Any]:
    """Train, teach and test, once per seed."""
    data = nmnist.prepared(nmnist.read(path))
    labels = np.asarray(data.labels)
    rows = []
    for seed in range(first, first + seeds):
        old, new, held_out = split(labels, test, seed)
        kept = models / f"without_{NEW}_{seed}.tsf" if models else None
        if kept and kept.is_file():
            network = Network.load(kept)
        else:
            network = Network.for_data(data[old], seed=seed).fit(data[old])
            if kept:
                network.save(kept)
        tested = data[held_out]
        before, _ = accuracy(network, tested)
        shown = times * lessons(labels, old, new, rehearse, seed)
        after, learned = accuracy(teach(network, data, shown, pace), tested)
        rows.append({"seed": seed, "old_before": before, "old_after": after, "new": learned})
        print(f"seed {seed}: old {before:.1%} -> {after:.1%}, new {learned:.1%}", flush=True)
    mean = {name: float(np.mean([row[name] for row in rows])) for name in ("old_before", "old_after", "new")}
    settings = {
        "seeds": seeds, "first_seed": first, "test": test, "rehearse": rehearse, "times": times, "pace": pace,
        "shown": SHOWN,
    }  # fmt: skip
    return {"machine": machine.describe(), "settings": settings, "mean": mean, "runs": rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="nmnist_train_1000.npz")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=4, help="first seed: 0 to 3 have chosen the defaults below")
    parser.add_argument("--test", type=int, default=200, help="recordings to test on")
    parser.add_argument("--rehearse", type=int, default=18, help="old recordings per two new ones")
    parser.add_argument("--times", type=int, default=2, help="how often the lesson is shown")
    parser.add_argument("--pace", type=float, default=10.0, help="factor of the network's rates while it is taught")
    parser.add_argument("--models", type=Path, help="folder that keeps the trained networks")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    result = run(
        given.data, given.seeds, given.first, given.test, given.rehearse, given.times, given.pace, given.models
    )
    print(json.dumps(result["mean"], indent=1))
    if given.json:
        given.json.write_text(json.dumps(result, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
