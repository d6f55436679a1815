"""The network that the paper compares with: one convolutional layer, sigmoid units, a linear read-out, backpropagation.

As large as Sup3r's: 32 units that see 9 x 9 pixels, one unit a class that sees them all. Stochastic gradient descent at
the paper's rate of 0.05. PyTorch is the extra `bench`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf.errors import MissingEngineError
from timesurf.events import Recordings
from timesurf.learning.split import hold_out

Array = NDArray[Any]
PATIENCE = 0.25  # of all passes, without a better one on the validation share


def fit(
    images: Array,
    labels: Array,
    *,
    units: int = 32,
    side: int = 9,
    rate: float = 0.05,
    batch_size: int = 32,
    passes: int = 20,
    validation: float = 0.1,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Callable[[Array], Array]:
    """Train on images (n, height, width) of values around 0 to 1; what gives the classes of others.

    The best of at most `passes` passes on a share held out; it ends early when the last quarter brought nothing.
    progress : called with passes done and passes in all
    """
    torch = load()
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    classes, label = np.unique(labels, return_inverse=True)
    x = torch.from_numpy(np.ascontiguousarray(images, dtype=np.float32))[:, None]
    y = torch.from_numpy(label.astype(np.int64))
    height, width = images.shape[1:]
    network = torch.nn.Sequential(
        torch.nn.Conv2d(1, units, side, padding=side // 2), torch.nn.Sigmoid(), torch.nn.Flatten(),
        torch.nn.Linear(units * height * width, len(classes)),
    )  # fmt: skip
    descent = torch.optim.SGD(network.parameters(), lr=rate)
    learnt, held = hold_out(label, validation, rng)
    best, best_pass, best_right = None, 0, -1
    for n in range(passes):
        order = torch.from_numpy(rng.permutation(learnt))
        for some in order.split(batch_size):
            descent.zero_grad()
            torch.nn.functional.cross_entropy(network(x[some]), y[some]).backward()
            descent.step()
        right = int((_told(network, x[held]) == label[held]).sum())
        if right > best_right:
            best, best_pass, best_right = {k: v.clone() for k, v in network.state_dict().items()}, n, right
        if progress:
            progress(n + 1, passes)
        if n - best_pass >= PATIENCE * passes:
            break
    if best is not None:
        network.load_state_dict(best)

    def predict(others: Array) -> Array:
        return classes[_told(network, torch.from_numpy(np.ascontiguousarray(others, dtype=np.float32))[:, None])]

    return predict


def _told(network: Any, x: Any) -> Array:
    torch = load()
    with torch.no_grad():
        told: Array = torch.cat([network(some).argmax(dim=1) for some in x.split(1000)]).numpy()
    return told


def load() -> Any:
    """PyTorch, or an error that says how to get it."""
    try:
        import torch
    except ImportError as error:
        raise MissingEngineError("The ANN rows need PyTorch: pip install 'timesurf[bench]'.") from error
    return torch


def event_images(recordings: Recordings) -> Array:
    """Events of each recording by pixel, (n, height, width): roots of counts, the brightest pixel of each 1.

    >>> two = Recordings([[0, 1, 1], [0, 0, 0]], t=[0, 1, 2], field=(2, 1))
    >>> event_images(two).round(2)
    array([[[0.71, 1.  ]]], dtype=float32)
    """
    x, y = recordings.coords
    width, height = recordings.field
    number = np.repeat(np.arange(len(recordings)), recordings.counts)
    place = (number * height + y) * width + x
    count = np.bincount(place, minlength=len(recordings) * height * width).astype(np.float32)
    images: Array = np.sqrt(count.reshape(len(recordings), height, width))
    brightest = images.max(axis=(1, 2), keepdims=True)
    images /= np.maximum(brightest, 1)
    return images
