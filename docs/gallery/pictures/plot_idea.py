"""
Surface, layer, threshold, S
============================

Draws the four pictures of :doc:`/idea` from one recording and one network that it trains.
"""

import matplotlib.pyplot as plt
import numpy as np

from timesurf import metrics, plots
from timesurf.datasets import sentences
from timesurf.presets import SENTENCES

train, test = sentences.make(500, seed=1), sentences.make(40, seed=2)
untrained = SENTENCES.network(train, sentences.TASK1, seed=0).start(train, **SENTENCES.starting())
network = SENTENCES.network(train, sentences.TASK1, seed=0).fit(train, **SENTENCES.training())

# %%
# A time surface: what fired around an event, and how long ago. Here the second character of one recording, an x, as the
# first layer sees it after 5, 20 and 100 of its events.

one = test[1]
x, y = one.coords
surfaces = network.surfaces(one).reshape(-1, 5, 5)
of_x = np.flatnonzero(x // 5 == 1)

fig, axes = plt.subplots(1, 4, figsize=(11, 3.2), layout="constrained", width_ratios=(1.7, 1, 1, 1))
first = one.t < 1000
axes[0].scatter(one.t[first], x[first] + y[first] / 6, s=2, color="black")
axes[0].axhspan(5, 10, color="C1", alpha=0.25, linewidth=0)
axes[0].set(xlabel="us", ylabel="column of the field", title="events of the first millisecond", ylim=(30, 0))
for ax, count in zip(axes[1:], (5, 20, 100), strict=True):
    event = of_x[count - 1]
    image = ax.imshow(surfaces[event].T, vmin=0, vmax=1)
    ax.plot(x[event] - 5, y[event], "o", color="C3")
    ax.set(title=f"after {count} events,\nat {one.t[event]} us", xticks=[], yticks=[])
fig.colorbar(image, ax=axes[1:], label="ts", shrink=0.8)
plt.show()

# %%
# A layer: the unit whose centroid is closest to the surface fires.

event = of_x[99]
distance = [np.linalg.norm(surfaces[event] - c[:, :, 0]) for c in network.parameters[0].centroids]
trace = network.trace(one)
assert np.argmin(distance) == trace.winner[event, 0]

fig, axes = plt.subplots(1, 4, figsize=(10, 3), layout="constrained")
axes[0].imshow(surfaces[event].T, vmin=0, vmax=1)
axes[0].set(title="the surface", xticks=[], yticks=[])
for n, ax in enumerate(axes[1:]):
    fires = n == trace.winner[event, 0]
    plots.centroid(ax, network, 0, n)
    ax.set_title(
        f"unit {n + 1}: distance {distance[n]:.2f}{', fires' if fires else ''}", color="C3" if fires else "black"
    )
plt.show()

# %%
# A threshold: an event further from its unit than the unit's threshold is rejected. Distances of all events of 40
# recordings to the unit that is closest to them, by character.

trace = network.trace(test)
letters = np.array([list(label) for label in test.labels])
character = letters[np.repeat(np.arange(len(test)), test.counts), test.coords[0] // 5]
thresholds = network.parameters[0].thresholds

fig, axes = plt.subplots(3, 1, figsize=(9, 6), layout="constrained", sharex=True)
bins = np.linspace(0, 4, 90)
colours = dict(zip("v/xyt", ("C7", "C0", "C3", "C1", "C2"), strict=True))
for n, ax in enumerate(axes):
    for name in "v/xyt":
        mine = (trace.winner[:, 0] == n) & (character == name)
        if mine.any():
            ax.hist(trace.distance[mine, 0], bins, histtype="stepfilled", alpha=0.6, color=colours[name], label=name)
    ax.axvline(thresholds[n], color="black")
    ax.axvspan(thresholds[n], 4, color="grey", alpha=0.2, linewidth=0)
    ax.set(ylabel="events", title=f"closest to unit {n + 1}; its threshold: {thresholds[n]:.2f}", xlim=(0, 4))
    if ax.get_legend_handles_labels()[0]:
        ax.legend(ncols=5, fontsize=8)
axes[-1].set_xlabel("distance; grey: rejected")
plt.show()

print("share of events that pass the first layer, by character:")
for name in "v/xyt":
    print(f"  {name}  {(trace.passed[character == name] > 0).mean():7.2%}")

# %%
# S: 1 while one unit fires alone and its class is right, -1 if its class is wrong, 0 if all fire at once. The S of the
# last layer, over the output events of one recording, before and after learning.

fig, axes = plt.subplots(2, 1, figsize=(9, 4.4), layout="constrained", sharex=True)
for ax, net, title in zip(axes, (untrained, network), ("before learning", "after"), strict=True):
    trace = net.trace(one)
    out = ~np.isnan(trace.S[:, -1])
    evaluated = net.evaluate(test)
    ax.plot(one.t[out] / 1000, trace.S[out, -1], ".", markersize=2, color="C0")
    ax.axhline(0, color="grey", linewidth=0.8)
    ax.set(ylim=(-1.08, 1.08), ylabel="S of the last layer")
    ax.set_title(
        f"{title}: event accuracy {evaluated['event_accuracy']:.1%}, kept {evaluated['kept']:.1%}, "
        f"mean |S| {metrics.sparsity(net.trace(test))[-1]:.2f} (40 recordings)"
    )
axes[-1].set_xlabel("ms of one recording")
plt.show()
