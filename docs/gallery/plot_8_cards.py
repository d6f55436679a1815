"""
Cards: a few examples, and fewer events
=======================================

Playing cards flipped before an event camera: clubs, diamonds, hearts and spades in 5 to 32 ms. POKER-DVS has a hundred
recordings. ``timesurf bench senses --data FOLDER --only POKER`` measures the default network on them beside plain
counts and HOTS; ``python benchmarks/gallery_pictures.py FOLDER cards`` draws the picture:

.. image:: /images/cards.png
   :alt: Accuracy of every split, and accuracy over the time that has passed

On the left a dot is a split of 80 recordings to learn from and 20 to test on. On the right the network of the first
split decides before the card has passed: the first milliseconds suffice.
"""

import json
from pathlib import Path
from statistics import mean

import matplotlib.pyplot as plt
import numpy as np

from timesurf import Network, plots, transforms
from timesurf.baselines import counts
from timesurf.datasets import poker, saccades
from timesurf.learning.knobs import Knobs

RESULTS = Path("../../benchmarks/results/senses.json")  # in a clone of the repository
if RESULTS.is_file():
    (real,) = (of for of in json.loads(RESULTS.read_text("utf-8"))["senses"] if of["data"].startswith("POKER"))
    for name, method in (("network", "default"), ("counts in eight parts of time", "counts_8"), ("counts", "counts_1")):
        print(f"{name}: {mean(real[method]):.1%}")

# %%
# What follows needs no file: a simulated camera looks at drawn pips.


def pip(suit, rng):
    """A picture of 28 x 28 pixels: circles and lines make the four suits."""
    x, y = np.meshgrid(np.arange(28), np.arange(28))
    u, v, r = x - rng.uniform(12, 15), y - rng.uniform(12, 15), rng.uniform(5, 7)

    def disc(a, b, size):
        return np.hypot(u - a * r, v - b * r) < size * r

    stem = (np.abs(u) < 0.2 * r) & (v > 0) & (v < 1.4 * r)
    heart = (
        disc(-0.5, -0.4, 0.6) | disc(0.5, -0.4, 0.6) | ((v > -0.4 * r) & (np.abs(u) < 1.05 * r - 0.75 * (v + 0.4 * r)))
    )
    spade = disc(-0.5, 0.3, 0.6) | disc(0.5, 0.3, 0.6) | ((v < 0.3 * r) & (np.abs(u) < 0.75 * (v + 1.3 * r)))
    club = disc(0, -0.6, 0.5) | disc(-0.6, 0.2, 0.5) | disc(0.6, 0.2, 0.5) | stem
    diamond = np.abs(u) / 0.7 + np.abs(v) < 1.3 * r
    return {"cl": club, "di": diamond, "he": heart & (v > -1.2 * r), "sp": (spade & (v > -1.3 * r)) | stem}[suit]


rng, suits = np.random.default_rng(0), np.array(poker.SUITS * 15)
recordings = saccades.simulate(np.stack([pip(suit, rng) for suit in suits]).astype(float), suits, seed=0)
recordings = transforms.time_crop(recordings, 0, "60 ms")
print(recordings)

fig, axes = plt.subplots(1, 4, figsize=(10, 2.8), layout="constrained")
for ax, suit in zip(axes, poker.SUITS, strict=True):
    one = recordings[int(np.flatnonzero(np.asarray(recordings.labels) == suit)[0])]
    seen = np.zeros(one.field)
    np.add.at(seen, one.coords, 1)
    ax.imshow(seen.T)
    ax.set(title=f"{suit}, {np.ptp(one.t) / 1e3:.0f} ms", xticks=[], yticks=[])
plt.show()

# %%
# Two thirds to learn from, one third to test on: one recording is 3 to 5 points, so :doc:`cross-validation
# <plot_5_cross_validation>` would say more. First with all events, beside logistic regression on how often every pixel
# fired; then the first layer keeps 30 % of the events, and the last learns again. Half of the units that would be
# chosen are enough here, and this page is built sooner.

held = np.arange(len(recordings)) % 3 == 0
train, test = recordings[np.flatnonzero(~held)], recordings[np.flatnonzero(held)]
network = Network.for_data(train, seed=0, knobs=Knobs(units=0.5)).fit(train, passes=10)
print(f"all events: {network.evaluate(test)['recording_accuracy']:.1%} of {len(test)} recordings")
print(f"counts: {counts.classified(train, test):.1%}")
found = network.tighten(train, keep=0.3, passes=10).evaluate(test)
print(f"{found['kept']:.0%} of the events kept: {found['recording_accuracy']:.1%}")

# %%
# Which events are kept: those that look most like what the hidden units know.

plots.kept(network, test[0], layer=0)
plt.show()
