"""
Touch: letters in braille
=========================

A robot's skin of 8 x 10 sensors that report events slides over letters in braille. Where the file
``braille_touch_1348.npz`` lies in ``$TIMESURF_DATA`` these are real recordings (letter-spike, the sensor NUSkin);
elsewhere bars that are pressed against a simulated skin stand in for them, so that this page can be built anywhere.
"""

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from timesurf import Network, Recordings, plots
from timesurf.baselines import counts
from timesurf.io import npz

FILE = Path(os.environ.get("TIMESURF_DATA", ".")) / "braille_touch_1348.npz"
LETTERS = 6


def simulated(each=40, events=300):
    """A bar at one of six angles slides over the skin for two seconds; the force grows (1), then falls (0)."""
    rng, rows = np.random.default_rng(0), []
    for n in range(LETTERS * each):
        t = np.sort(rng.integers(0, 2_000_000, events))
        angle, along = np.pi * (n % LETTERS) / LETTERS, rng.normal(0, 2.2, events)
        moved = (t / 1e6 - 1) * 1.5 + rng.normal(0, 0.5, events)
        x = 3.5 + along * np.cos(angle) - moved * np.sin(angle)
        y = 4.5 + along * np.sin(angle) + moved * np.cos(angle)
        rows.append((np.clip(x, 0, 7).astype(int), np.clip(y, 0, 9).astype(int), t, t < 1_000_000))
    x, y, t, p = (np.concatenate(column) for column in zip(*rows, strict=True))
    offsets, labels = np.arange(LETTERS * each + 1) * events, np.arange(LETTERS * each) % LETTERS
    return Recordings([x, y], t, p, offsets, field=(8, 10), polarities=2, labels=labels)


if FILE.is_file():
    recordings = npz.read(FILE)
    recordings = recordings[np.flatnonzero(np.asarray(recordings.labels) < LETTERS)]
else:
    recordings = simulated()
print("real" if FILE.is_file() else "simulated", recordings)

# %%
# One touch of each of two classes: how often every sensor reported.

fig, axes = plt.subplots(1, 2, figsize=(6, 3.4), layout="constrained")
for ax, label in zip(axes, (0, 1), strict=True):
    one = recordings[int(np.flatnonzero(np.asarray(recordings.labels) == label)[0])]
    seen = np.zeros(one.field)
    np.add.at(seen, one.coords, 1)
    ax.imshow(seen.T)
    ax.set(title=f"class {label}: {one.counts[0]:,} events", xticks=[], yticks=[])
plt.show()

# %%
# Every fifth recording is held out. The network is chosen from the others: it says what it chose and why (20 passes are
# fewer than by default, so that this page is built quickly). Beside it, logistic regression on how often every sensor
# reported.

held = np.arange(len(recordings)) % 5 == 0
train, test = recordings[np.flatnonzero(~held)], recordings[np.flatnonzero(held)]
network = Network.for_data(train, seed=0).fit(train, passes=20)
print("\n".join(network.law.why))
print(f"network: {network.evaluate(test)['recording_accuracy']:.1%} of {len(test)} recordings, {LETTERS} classes")
print(f"counts:  {counts.classified(train, test):.1%}")

# %%
# How soon is it sure? The share of the votes of every class, over one recording.

plots.decision(network, test[0])
plt.show()
