"""
Handwriting: from pictures to a drawing of your own
===================================================

Digits that people wrote (scikit-learn's, included in it), seen by a simulated camera that makes N-MNIST's three
movements. A network learns from them, and then decides on a digit drawn with a mouse, as ``timesurf live`` does in the
browser.
"""

import matplotlib.pyplot as plt
import numpy as np

from timesurf import Network, Session, plots
from timesurf.datasets import digits, saccades
from timesurf.learning.knobs import Knobs
from timesurf.live.pad import Pad


def seen(split, number):
    """Recordings of the first pictures; ``digits.load(split)`` makes all 1,200 or 597."""
    pictures, labels = digits.images(split)
    return saccades.simulate(pictures[:number], labels[:number], seed=0)


train, test = seen("train", 150), seen("test", 60)
network = Network.for_data(train, seed=0, knobs=Knobs(units=0.5)).fit(train, passes=6)  # half the units: built sooner
print(network)
print(f"{network.evaluate(test)['recording_accuracy']:.1%} of {len(test)} recordings of other hands")

# %%
# A seven, as points of a mouse from 0 to 1. The pad draws the line, the camera looks at it, and every packet of 10 ms
# goes to a session, which decides so far.

pad = Pad(network.field, network.polarities)
pad.draw([(0.3, 0.2), (0.7, 0.2), (0.58, 0.45), (0.46, 0.85)])
events = pad.events(since=0)
session, course = Session(network), []
for begin in range(0, int(events["t"][-1]), 10_000):
    packet = events[(events["t"] >= begin) & (events["t"] < begin + 10_000)]
    if len(packet):
        now = session.push(packet)
        course.append((begin / 1e3, now.decision, now.confidence))
print(f"after {course[-1][0]:.0f} ms: {course[-1][1]}, confidence {course[-1][2]:.0%}")

# %%

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), width_ratios=(1, 2), layout="constrained")
seen = np.zeros(network.field)
np.add.at(seen, (events["x"], events["y"]), 1)
left.imshow(seen.T)
left.set(title=f"{len(events):,} events", xticks=[], yticks=[])
right.plot([t for t, _, _ in course], [str(decision) for _, decision, _ in course], "o-")
right.set(xlabel="ms", ylabel="decision so far")
plt.show()

# %%
# What the hidden units have learned: small pieces of strokes, for both polarities.

plots.centroids(network, 0)
plt.show()
