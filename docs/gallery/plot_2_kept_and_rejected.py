"""
What a layer keeps and what it rejects
======================================

Each unit of a hidden layer has a threshold. An event whose surface is further from the closest unit than that is
rejected: it does not reach the layers above. This script follows all events of 200 recordings through a network.
"""

import matplotlib.pyplot as plt
import numpy as np

from timesurf.datasets import sentences
from timesurf.presets import SENTENCES

train, test = sentences.make(500, seed=3), sentences.make(200, seed=4)
network = SENTENCES.network(train, sentences.TASK1, seed=0).fit(train, **SENTENCES.training())
trace = network.trace(test)

# %%
# By layer
# --------

figures = network.evaluate(test)
print(f"{figures['events']:,} events, event accuracy {figures['event_accuracy']:.2%}")
for k, share in enumerate(figures["kept_by_layer"], start=1):
    print(f"  passed layer {k}: {share:7.2%}")

# %%
# By character
# ------------
#
# ``passed`` is the number of layers that let an event pass. Only ``/`` and ``x`` determine the class. If all of their
# events passed and no others, the share of events kept would be the one in the last line.

recording = np.repeat(np.arange(len(test)), test.counts)
place = test.coords[0] // 5
character = np.array([list(label) for label in test.labels])[recording, place]
for name in "v/xyt":
    passed = trace.passed[character == name]
    layers = "  ".join(f"{(passed > k).mean():7.2%}" for k in range(3))
    print(f"  {name}  after layers 1, 2, 3: {layers}")
print(f"  / and x are {np.isin(character, ['/', 'x']).mean():.2%} of all events")

# %%
# By pixel
# --------

fig, axes = plt.subplots(3, 2, figsize=(10, 4.2), layout="constrained")
for column, label in enumerate(sentences.TASK1):
    mine = (test.labels == label)[recording]
    for row, (least, title) in enumerate(((0, "input"), (1, "after layer 1"), (3, "output"))):
        chosen = mine & (trace.passed >= least)
        counts = np.zeros(test.field)
        np.add.at(counts, tuple(v[chosen] for v in test.coords), 1)
        axes[row, column].imshow(counts.T / (test.labels == label).sum(), vmin=0, vmax=100)
        axes[row, column].set(title=f"{label}, {title}", xticks=[], yticks=[])
plt.show()

# %%
# When it is wrong
# ----------------
#
# A surface starts empty. Until a few pixels of an ``x`` have fired, it may look like a ``/``. So most wrong output
# events come early in a recording.

out = trace.passed == 3
right = network.classes[trace.winner[out, -1]] == test.labels[recording[out]]
ms = test.t[out] / 1000
edges = np.arange(11)
wrong = np.histogram(ms[~right], edges)[0]
print(f"{(~right).sum()} of {len(right):,} output events are wrong, {wrong[0]} of them in the first millisecond")

fig, ax = plt.subplots(figsize=(7, 2.8), layout="constrained")
ax.stairs(wrong / len(test), edges, fill=True, color="C3")
ax.set(xlabel="ms since the start of the recording", ylabel="wrong output events\nper recording")
plt.show()
