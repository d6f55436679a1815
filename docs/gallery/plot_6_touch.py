"""
Touch: letters in braille
=========================

A robot's skin of 8 x 10 sensors that report events slides over 27 letters in braille (letter-spike, the sensor NUSkin).
``timesurf bench senses --data FOLDER --only braille`` measures the default network on these recordings beside plain
counts and HOTS; ``python benchmarks/gallery_pictures.py FOLDER touch`` draws the picture:

.. image:: /images/touch.png
   :alt: Accuracy of every split, and accuracy over the time that has passed

On the left a dot is a split of 1,079 recordings to learn from and 269 to test on. On the right the network of the first
split decides before the letter is over: after half a second, most letters are known.
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
    (real,) = (of for of in json.loads(RESULTS.read_text("utf-8"))["senses"] if of["data"] == "braille touch")
    for name, method in (("network", "default"), ("counts in eight parts of time", "counts_8"), ("counts", "counts_1")):
        print(f"{name}: {mean(real[method]):.1%}")

# %%
# The recordings may not be passed on with this page. What follows uses a stand-in: a bar at one of three angles slides
# over a simulated skin, in one of two directions. When it comes and how fast it moves differs, its angle is inexact,
# and four events of ten are noise.

LETTERS = 6


def simulated(each=30, events=200, noise=0.4):
    """Recordings of 3 s; labels 0 to 2 slide one way, 3 to 5 the other."""
    rng, rows = np.random.default_rng(0), []
    for n in range(LETTERS * each):
        begin, duration, phase = rng.uniform(0, 1.5), rng.uniform(0.8, 1.5), rng.random(events)
        angle, way = np.pi * (n % 3) / 3 + rng.normal(0, 0.3), 1 if n % LETTERS < 3 else -1
        along, moved = rng.normal(0, 2.2, events), way * (6 * phase - 3) + rng.normal(0, 0.7, events)
        x = 3.5 + along * np.cos(angle) - moved * np.sin(angle)
        y = 4.5 + along * np.sin(angle) + moved * np.cos(angle)
        of_bar = np.stack([x, y, 1e6 * (begin + duration * phase)])
        stray = rng.uniform(0, [[8], [10], [3e6]], (3, events))
        row = np.where(rng.random(events) < noise, stray, of_bar)
        rows.append(row[:, np.argsort(row[2])])
    x, y, t = np.concatenate(rows, axis=1)
    offsets, labels = np.arange(LETTERS * each + 1) * events, np.arange(LETTERS * each) % LETTERS
    x, y = np.clip(x, 0, 7).astype(int), np.clip(y, 0, 9).astype(int)
    return Recordings([x, y], t.astype(int), None, offsets, field=(8, 10), labels=labels)


recordings = simulated()
print(recordings)

# %%
# Two recordings that differ in their direction only: how often every sensor reported says nothing, when it reported
# does (bright: late).

fig, axes = plt.subplots(1, 2, figsize=(6, 3.4), layout="constrained")
for ax, label in zip(axes, (0, 3), strict=True):
    one = recordings[label]
    ax.scatter(*one.coords, c=one.t, s=12, alpha=0.6)
    ax.set(title=f"class {label}", xlim=(-0.5, 7.5), ylim=(9.5, -0.5), xticks=[], yticks=[], aspect="equal")
plt.show()

# %%
# Every fifth recording of a class is held out. The network is chosen from the others: it says what it chose and why (20
# passes are fewer than by default, so that this page is built quickly). Beside it, logistic regression on how often
# every sensor reported, in eight parts of the time and in all of it.

held = np.arange(len(recordings)) // LETTERS % 5 == 0
train, test = recordings[np.flatnonzero(~held)], recordings[np.flatnonzero(held)]
network = Network.for_data(train, seed=0).fit(train, passes=20)
print("\n".join(network.law.why))
print(f"network: {network.evaluate(test)['recording_accuracy']:.1%} of {len(test)} recordings, {LETTERS} classes")
print(f"counts in eight parts of time: {counts.classified(train, test, 8):.1%}")
print(f"counts: {counts.classified(train, test):.1%}")

# %%
# How soon is it sure? The share of the votes of every class, over one recording.

plots.decision(network, test[0])
plt.show()
