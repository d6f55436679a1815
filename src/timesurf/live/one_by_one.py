"""One recording at a time, in river's manner: `learn_one` and `predict_one`."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from timesurf import metrics
from timesurf.errors import EventError
from timesurf.events import Recordings
from timesurf.network import Network

Array = NDArray[Any]


class OneByOne:
    """A network that learns from recordings as they come, one after another; what river calls a classifier.

    Parameters
    ----------
    network : Network
        Changed by `learn_one`. It starts from the first recording that it learns from, unless it is trained already; a
        start from more (`Network.start`) is better.

    Examples
    --------
    >>> from timesurf.datasets import sentences
    >>> from timesurf.presets import SENTENCES
    >>> data = sentences.make(30, seed=0)
    >>> model = OneByOne(SENTENCES.network(data, data.classes, seed=0).start(data))
    >>> for recording in data:
    ...     guess = model.predict_one(recording)
    ...     model.learn_one(recording, recording.labels[0])
    >>> sorted(model.predict_proba_one(data[0])) == sorted(data.classes)
    True
    """

    def __init__(self, network: Network) -> None:
        self.network = network

    def learn_one(self, x: Recordings | Array, y: Any = None) -> None:
        """Learn from a recording, with its label or, if None, without."""
        self.network.partial_fit(self._one(x).with_labels([y]))

    def predict_one(self, x: Recordings | Array) -> Any:
        """The class of a recording; None where nothing was learned yet, or no event was output."""
        if not self.network.started:
            return None
        decided = int(self.network.predict(self._one(x)).classes[0])
        return None if decided == metrics.SILENT else self.network.classes[decided].item()

    def predict_proba_one(self, x: Recordings | Array) -> dict[Any, float]:
        """The probability of each class, see `Network.probabilities`; empty where no event was output."""
        if not self.network.started:
            return {}
        outcome = self.network.infer(self._one(x))
        if not outcome.votes.any():
            return {}
        likely = self.network.probabilities(outcome)[0].tolist()
        return dict(zip(self.network.classes.tolist(), likely, strict=True))

    def _one(self, x: Recordings | Array) -> Recordings:
        """A recording, or a structured array of one, on the field of the network."""
        if not isinstance(x, Recordings):
            x = Recordings.from_structured([x], field=self.network.field, polarities=self.network.polarities)
        if len(x) != 1:
            raise EventError(f"One recording is needed, not {len(x):,}.")
        return x
