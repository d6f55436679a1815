"""The ANN that the paper compares with: one convolutional layer, sigmoid units, a linear read-out, backpropagation.

Rasetto, Akolkar and Benosman (2024), arXiv 2404.12402. For an image x, units n at places q, and classes k::

    h_n(q) = sigmoid(sum over z of w_n(z) x(q + z) + b_n)
    o_k    = sum over n, q of v_k(n, q) h_n(q) + b_k
    loss   = -log(exp(o_label) / sum over k of exp(o_k)),  every parameter -= 0.05 times its derivative

It is as large as Sup3r's network: 32 units over 9 x 9 pixels, one unit per class over all of them. PyTorch is in the
extra `bench`.
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
PATIENCE = 0.25  # share of all passes without an improvement on the validation images after which training ends


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
    """Train on images; the pass with the best validation accuracy is used.

    Parameters
    ----------
    images : array, shape (n, height, width)
        Values around 0 to 1.
    labels : array, shape (n,)
        Their classes.
    units, side : int
        Units of the convolutional layer, and the side of the square they see.
    rate : float
        Learning rate.
    batch_size : int
        Images per step.
    passes : int
        At most; training ends early when the last quarter of them brought no improvement.
    validation : float
        Share of the images to choose the best pass by.
    seed : int
        Seed of weights and order.
    progress : callable, optional
        Called with the number of passes done and of all passes.

    Returns
    -------
    callable
        From images to their predicted classes.

    Raises
    ------
    MissingEngineError
        If PyTorch is not installed.

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
    learned, held = hold_out(label, validation, rng)
    best, best_pass, best_right = None, 0, -1
    for n in range(passes):
        order = torch.from_numpy(rng.permutation(learned))
        for some in order.split(batch_size):
            descent.zero_grad()
            torch.nn.functional.cross_entropy(network(x[some]), y[some]).backward()
            descent.step()
        right = int((_predicted(network, x[held]) == label[held]).sum())
        if right > best_right:
            best, best_pass, best_right = {k: v.clone() for k, v in network.state_dict().items()}, n, right
        if progress:
            progress(n + 1, passes)
        if n - best_pass >= PATIENCE * passes:
            break
    if best is not None:
        network.load_state_dict(best)

    def predict(others: Array) -> Array:
        return classes[_predicted(network, torch.from_numpy(np.ascontiguousarray(others, dtype=np.float32))[:, None])]

    return predict


def _predicted(network: Any, x: Any) -> Array:
    """Numbers of the classes that the network predicts."""
    torch = load()
    with torch.no_grad():
        numbers: Array = torch.cat([network(some).argmax(dim=1) for some in x.split(1000)]).numpy()
    return numbers


def load() -> Any:
    """Import PyTorch, or raise an error that says how to install it."""
    try:
        import torch
    except ImportError as error:
        raise MissingEngineError("The ANN rows need PyTorch: pip install 'timesurf[bench]'.") from error
    return torch


def event_images(recordings: Recordings) -> Array:
    """Count the events of each recording per pixel: square roots of counts, scaled so that the largest is 1.

    Parameters
    ----------
    recordings : Recordings
        Of two dimensions.

    Returns
    -------
    array of float32, shape (recordings, height, width)
        Images.

    Examples
    --------
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
