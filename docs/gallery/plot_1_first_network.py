"""
A first network and its features
================================

Two sentences, ``v/vyty`` and ``vxvyty``, are written by noisy pixels. They differ in one character. A network of three
layers learns to distinguish them, with three units in the first layer for five characters.
"""

import matplotlib.pyplot as plt
import numpy as np

from timesurf import Full, Sup3rClassifier, Tile, plots
from timesurf.baselines import hots
from timesurf.datasets import sentences

train, test = sentences.make(500, seed=1), sentences.make(200, seed=2)
print(train)

# %%
# The input
# ---------
#
# One recording of each sentence: how often every pixel fired in 10 ms.

fig, axes = plt.subplots(2, 1, figsize=(9, 3.6), layout="constrained")
for ax, one in zip(axes, test[:2], strict=True):
    counts = np.zeros(one.field)
    np.add.at(counts, one.coords, 1)
    image = ax.imshow(counts.T)
    ax.set(title=f"{one.labels[0]}: {one.counts[0]:,} events", xticks=[], yticks=[])
fig.colorbar(image, ax=axes, label="events")
plt.show()

# %%
# Learning
# --------
#
# The first layer sees characters, the second words, the last sentences: one unit per class. The rule uses its defaults.

layers = [
    Tile((5, 5), units=3, tau="2 ms"),
    Tile((3, 1), units=6, tau="1 us", feedback_tau="100 us"),
    Full(tau="1 us", feedback_tau="10 us"),
]
classifier = Sup3rClassifier(layers, random_state=0).fit(train)
network = classifier.network_
figures = network.evaluate(test)
print(f"recording accuracy  {classifier.score(test):8.2%}")
print(f"event accuracy      {figures['event_accuracy']:8.2%}")
print(f"events kept         {figures['kept']:8.2%}")

# %%
# The same layers with centroids from k-means, for comparison: HOTS without Sup3r. They let every event pass.

kmeans = hots.fit_kmeans(classifier.__class__(layers, passes=0, random_state=0).fit(train).network_, train)
other = kmeans.evaluate(test)
print(f"k-means: event accuracy {other['event_accuracy']:.2%}, events kept {other['kept']:.2%}")

# %%
# What the first layer learned
# ----------------------------
#
# Sup3r's units represent what differs between the two sentences. k-means uses its units for what is frequent.

trace = network.trace(test)
output = trace.winner[trace.passed == 3, 0]
use = np.bincount(output, minlength=3) / len(output)

fig, axes = plt.subplots(2, 3, figsize=(7, 5.2), layout="constrained")
for n in range(3):
    plots.centroid(axes[0, n], kmeans, 0, n).set_title(f"unit {n + 1}")
    plots.centroid(axes[1, n], network, 0, n).set_title(f"unit {n + 1}: {use[n]:.0%} of output")
axes[0, 0].set_ylabel("k-means")
axes[1, 0].set_ylabel("Sup3r")
plt.show()

# %%
# Pass by pass
# ------------
#
# ``history`` has one entry per pass: the figures of each recording just before the network learned from it.

for n, line in enumerate(network.history, start=1):
    print(f"pass {n}: event accuracy {line['event_accuracy']:.1%}, events kept {line['kept']:.1%}")
