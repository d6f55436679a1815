"""
Speech: words from a cochlea
============================

A cochlea has one dimension: the channel, from high to low frequencies. Where ``spoken_digits_320.npz`` lies in
``$TIMESURF_DATA`` these are spoken digits through a model of the cochlea (Free Spoken Digit Dataset, 77 channels),
tested on a speaker that the network has never heard; elsewhere tones that rise, fall or stay are simulated.
"""

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from timesurf import Network, Recordings, plots, transforms
from timesurf.baselines import counts
from timesurf.io import npz

FILE = Path(os.environ.get("TIMESURF_DATA", ".")) / "spoken_digits_320.npz"
WORDS = 4


def simulated(each=24, events=1500):
    """Sweeps over 64 channels, up, down, up and down, or none, at one of four pitches, one per speaker."""
    rng, rows = np.random.default_rng(0), []
    speakers = np.arange(WORDS * each) // WORDS % 4
    for n, speaker in enumerate(speakers):
        t = np.sort(rng.integers(0, 300_000, events))
        phase = t / 300_000
        course = (phase, 1 - phase, 1 - np.abs(2 * phase - 1), np.full(events, 0.5))[n % WORDS]
        channel = 16 + 2 * speaker + 26 * course + rng.normal(0, 3, events)
        rows.append((np.clip(channel, 0, 63).astype(int), t))
    x, t = (np.concatenate(column) for column in zip(*rows, strict=True))
    offsets, labels = np.arange(len(speakers) + 1) * events, np.arange(len(speakers)) % WORDS
    return Recordings([x], t, None, offsets, field=(64,), labels=labels), speakers


if FILE.is_file():
    recordings, speakers = npz.read(FILE), npz.arrays(FILE, ["speaker"])["speaker"]
    few = np.flatnonzero(np.asarray(recordings.labels) < WORDS)
    recordings, speakers = transforms.drop(recordings[few], 0.9, seed=0), speakers[few]  # very dense: a tenth suffices
else:
    recordings, speakers = simulated()
print("real" if FILE.is_file() else "simulated", recordings)

# %%
# Two words of one speaker: every dot is an event.

fig, axes = plt.subplots(1, 2, figsize=(9, 3), sharey=True, layout="constrained")
for ax, label in zip(axes, (0, 1), strict=True):
    one = recordings[int(np.flatnonzero(np.asarray(recordings.labels) == label)[0])]
    ax.plot(one.t / 1e3, one.coords[0], ".", markersize=1, alpha=0.4)
    ax.set(title=f"word {label}", xlabel="ms")
axes[0].set_ylabel("channel")
plt.show()

# %%
# The last speaker is left out. A recogniser in use meets new voices, and accuracy on known ones is too high.

new = speakers == np.unique(speakers)[-1]
train, test = recordings[np.flatnonzero(~new)], recordings[np.flatnonzero(new)]
network = Network.for_data(train, seed=0).fit(train)
print("\n".join(network.law.why))
print(f"network: {network.evaluate(test)['recording_accuracy']:.1%} of {len(test)} words of a new speaker")
print(f"counts:  {counts.classified(train, test):.1%}")
print(f"counts in eight stretches of time: {counts.classified(train, test, 8):.1%}")

# %%

plots.decision(network, test[0])
plt.show()
