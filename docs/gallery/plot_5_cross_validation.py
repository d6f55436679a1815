"""
Cross-validation with scikit-learn
==================================

``Sup3rClassifier`` follows scikit-learn's conventions, and ``Recordings`` can be split like rows. So scikit-learn's own
tools work on event streams. The data are four shapes seen by a simulated event camera. Only half of the events in
the first 50 ms are used: whole recordings are classified correctly at any of these tau.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import StratifiedKFold, cross_val_score

from timesurf import Full, Sup3rClassifier, Window, transforms
from timesurf.datasets import saccades

rng = np.random.default_rng(0)


def shape(name):
    """A picture of 28 x 28, 1 where there is ink; place and size are random."""
    x, y = np.meshgrid(np.arange(28), np.arange(28))
    cx, cy, r = *rng.uniform(12, 16, 2), rng.uniform(6, 9)
    u, v = np.abs(x - cx), np.abs(y - cy)
    ink = {
        "ring": np.abs(np.hypot(u, v) - r) < 1.2,
        "square": np.abs(np.maximum(u, v) - r) < 1.2,
        "cross": (np.minimum(u, v) < 1.2) & (np.maximum(u, v) < r),
        "diagonals": (np.abs(u - v) < 1.7) & (np.maximum(u, v) < r),
    }
    return ink[name].astype(float)


labels = np.array(["ring", "square", "cross", "diagonals"] * 24)
pictures = np.stack([shape(name) for name in labels])
recordings = transforms.merge_polarities(saccades.simulate(pictures, labels, seed=0))
recordings = transforms.time_crop(recordings, 0, "50 ms")  # half of the first of three movements
recordings = transforms.drop(recordings, 0.5, seed=0)
print(recordings)

fig, axes = plt.subplots(1, 4, figsize=(10, 2.8), layout="constrained")
for ax, one in zip(axes, recordings[:4], strict=True):
    counts = np.zeros(one.field)
    np.add.at(counts, one.coords, 1)
    ax.imshow(counts.T)
    ax.set(title=f"{one.labels[0]}, {one.counts[0]:,} events", xticks=[], yticks=[])
plt.show()

# %%
# Three folds, for three time constants of the first layer, with 64 recordings to learn from and 32 to test on in each.
# So one recording is 3 points of its fold.

folds = StratifiedKFold(3, shuffle=True, random_state=0)
taus = ("0.3 ms", "3 ms", "30 ms")
scores = {}
for tau in taus:
    classifier = Sup3rClassifier(
        [Window(7, units=12, tau=tau), Full(tau="3 ms", feedback_tau="1 ms")],
        passes=8, batch_size=8, decay=True, start="kmeans", sample=30,
        alpha=2e-4, beta=0.0, gamma=0.0, delta=0.0, random_state=0,
    )  # fmt: skip
    scores[tau] = cross_val_score(classifier, recordings, recordings.labels, cv=folds)
    each = ", ".join(f"{score:.1%}" for score in scores[tau])
    print(f"tau {tau:>6}: recording accuracy {scores[tau].mean():.1%}; by fold {each}")

# %%

fig, ax = plt.subplots(figsize=(5, 3), layout="constrained")
for place, tau in enumerate(taus):
    ax.plot(np.full(3, place) + np.linspace(-0.08, 0.08, 3), scores[tau], "o", color="C0")
    ax.hlines(scores[tau].mean(), place - 0.2, place + 0.2, color="black")
ax.axhline(1 / 4, color="grey", linestyle=":", label="chance")
ax.set(xticks=range(3), xlabel="tau of the first layer", ylabel="recording accuracy", ylim=(0, 1.03))
ax.set_xticklabels(taus)
ax.legend(loc="lower right")
plt.show()
