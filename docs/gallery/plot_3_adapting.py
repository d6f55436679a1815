"""
Adapting without labels while the input drifts
==============================================

``adapt`` predicts and continues to learn from the local signal alone: no label is used. Here the four pixels that
``x`` has and ``/`` lacks move, one at a time, from one character to the other, until the two have changed places.
"""

import copy

import matplotlib.pyplot as plt
import numpy as np

from timesurf import metrics, plots
from timesurf.datasets import sentences
from timesurf.presets import SENTENCES

train = sentences.make(500, seed=5)
network = SENTENCES.network(train, sentences.TASK1, seed=0).fit(train, **SENTENCES.training())
still = copy.deepcopy(network)

# %%
# 200 recordings without a shift, then 250 after each pixel that moves. Both networks see the same recordings; one
# adapts, the other does not change.

steps = [sentences.shifted(200 if step == 0 else 250, step, seed=10 + step) for step in range(5)]
curves = {"adapting": [], "not adapting": []}
for step, recordings in enumerate(steps):
    label = network.class_numbers(recordings)
    curves["adapting"].append(metrics.event_shares(network.adapt(recordings).votes, label))
    curves["not adapting"].append(metrics.event_shares(still.infer(recordings).votes, label))
    ends = ", ".join(f"{name} {curve[-1][-50:].mean():.2%}" for name, curve in curves.items())
    print(f"pixels moved: {step}. Event accuracy in the last 50 recordings: {ends}")

# %%
# Event accuracy, mean of ten recordings. Dotted: a pixel moves.

fig, ax = plt.subplots(figsize=(9, 3.2), layout="constrained")
for name, parts in curves.items():
    curve = np.convolve(np.concatenate(parts), np.ones(10) / 10, mode="valid")
    ax.plot(np.arange(len(curve)) + 10, curve, label=name)
for end in np.cumsum([len(r) for r in steps])[:-1]:
    ax.axvline(end, color="grey", linestyle=":")
ax.set(xlabel="recordings", ylabel="event accuracy", ylim=(-0.02, 1.02))
ax.legend(loc="center left")
plt.show()

# %%
# The first layer before (above) and after (below): the units have followed their characters.

fig, axes = plt.subplots(2, 3, figsize=(6, 4.2), layout="constrained")
for n in range(3):
    plots.centroid(axes[0, n], still, 0, n).set_title(f"unit {n + 1}")
    plots.centroid(axes[1, n], network, 0, n)
axes[0, 0].set_ylabel("before")
axes[1, 0].set_ylabel("after")
plt.show()

# %%
# This is one network. :doc:`/continual` has ten, and shows what protects them from a camera that is stuck.
