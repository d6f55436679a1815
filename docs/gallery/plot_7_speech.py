"""
Speech: words from a cochlea
============================

A cochlea has one dimension: the channel, from high to low frequencies. Ten spoken digits of four speakers (Free Spoken
Digit Dataset) went through a model of the cochlea with 77 channels. Each split is tested on a speaker that the network
has never heard: anyone who builds a recogniser meets new voices, and accuracy on known ones is too high.
``timesurf bench senses --data FOLDER --only spoken`` measures the default network beside plain counts and HOTS;
``python benchmarks/gallery_pictures.py FOLDER speech`` draws the picture:

.. image:: /images/speech.png
   :alt: Accuracy for every speaker, and accuracy over the time that has passed

On the left a dot is a speaker. On the right the network of the first split has heard only the beginning of each word,
and is right almost as often before the word is over.
"""

import json
from pathlib import Path
from statistics import mean

import matplotlib.pyplot as plt
import numpy as np

from timesurf import Network, Recordings, plots
from timesurf.baselines import counts

RESULTS = Path("../../benchmarks/results/senses.json")  # in a clone of the repository
if RESULTS.is_file():
    (real,) = (of for of in json.loads(RESULTS.read_text("utf-8"))["senses"] if of["data"].startswith("spoken"))
    for name, method in (("network", "default"), ("counts in eight parts of time", "counts_8"), ("counts", "counts_1")):
        print(f"{name}: {mean(real[method]):.1%}")

# %%
# The recordings may not be passed on with this page. What follows uses a stand-in: tones that rise, fall, do one and
# then the other, or the reverse, by five speakers at five pitches. When a word begins and how long it takes differs,
# and a fifth of the events are noise.

WORDS, SPEAKERS = 4, 5


def simulated(each=30, events=600, noise=0.2):
    """Sweeps over 64 channels within 450 ms, and who says them."""
    rng, rows = np.random.default_rng(0), []
    speakers = np.arange(WORDS * each) // WORDS % SPEAKERS
    for n, speaker in enumerate(speakers):
        begin, duration, phase = rng.uniform(0, 250e3), rng.uniform(100e3, 200e3), rng.random(events)
        course = (phase, 1 - phase, 1 - np.abs(2 * phase - 1), np.abs(2 * phase - 1))[n % WORDS]
        channel = 12 + 2 * speaker + 26 * course + rng.normal(0, 3, events)
        stray = rng.uniform(0, [[64], [450e3]], (2, events))
        row = np.where(rng.random(events) < noise, stray, [channel, begin + duration * phase])
        rows.append(row[:, np.argsort(row[1])])
    x, t = np.concatenate(rows, axis=1)
    offsets, labels = np.arange(len(speakers) + 1) * events, np.arange(len(speakers)) % WORDS
    return Recordings(
        [np.clip(x, 0, 63).astype(int)], t.astype(int), None, offsets, field=(64,), labels=labels
    ), speakers


recordings, speakers = simulated()
print(recordings)

# %%
# Two words of one speaker: every dot is an event.

fig, axes = plt.subplots(1, 2, figsize=(9, 3), sharey=True, layout="constrained")
for ax, label in zip(axes, (0, 2), strict=True):
    one = recordings[label]
    ax.plot(one.t / 1e3, one.coords[0], ".", markersize=2, alpha=0.6)
    ax.set(title=f"word {label}", xlabel="ms")
axes[0].set_ylabel("channel")
plt.show()

# %%
# The last speaker is left out (30 passes are fewer than by default, so that this page is built quickly).

new = speakers == SPEAKERS - 1
train, test = recordings[np.flatnonzero(~new)], recordings[np.flatnonzero(new)]
network = Network.for_data(train, seed=0).fit(train, passes=30)
print("\n".join(network.law.why))
print(f"network: {network.evaluate(test)['recording_accuracy']:.1%} of {len(test)} words of a new speaker")
print(f"counts in eight parts of time: {counts.classified(train, test, 8):.1%}")
print(f"counts: {counts.classified(train, test):.1%}")

# %%

plots.decision(network, test[0])
plt.show()
