"""SpikingNetwork: layers of integrate-and-fire neurons, their weights, and the verbs of `timesurf.Network`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf import inference, metrics
from timesurf.engines import Batch, Outcome, Parameters, pack
from timesurf.errors import EventError, NotFittedError, SettingError
from timesurf.events import Recordings
from timesurf.learning.start import sample_of
from timesurf.learning.trainer import Progress
from timesurf.modelfile import class_names, seed_number
from timesurf.rule import Rule
from timesurf.spiking import cpu, reference
from timesurf.spiking.layers import Neurons, stack
from timesurf.spiking.rule import check_rule, default_rule
from timesurf.spiking.start import Start, begin

Array = NDArray[Any]
_ENGINES: dict[str, Callable[..., Outcome]] = {"cpu": cpu.run, "reference": reference.run}
_REPORTED = 50  # recordings between two reports of progress


class SpikingNetwork:
    """A hierarchy of integrate-and-fire neurons that Sup3r trains online.

    Parameters
    ----------
    layers : sequence of Neurons
        From the input up. The last hears the whole field and has one neuron per class.
    field, polarities : sequence of int, int
        Of the input, as in `Recordings`.
    classes : sequence
        The labels, in the order of the last layer's neurons.
    rule : Rule, optional
        Rates of Sup3r; by default those of `timesurf.spiking.rule`.
    engine : {"cpu", "reference"}
        The reference is slow and obvious.
    seed : int, optional
        Of the start and of the order of recordings.

    Examples
    --------
    >>> from timesurf.datasets import sentences
    >>> layers = [Neurons((5, 5), units=3, tau="500 us", refractory="500 us"), Neurons(tau=1, ready=0)]
    >>> network = SpikingNetwork(layers, field=(30, 5), polarities=1, classes=["v/vyty", "vxvyty"])
    >>> network.fit(sentences.make(20, seed=0), passes=1).infer(sentences.make(4, seed=1)).votes.shape
    (4, 2)
    """

    def __init__(
        self,
        layers: Sequence[Neurons],
        field: Sequence[int],
        polarities: int,
        classes: Sequence[Any] | Array,
        *,
        rule: Rule | None = None,
        engine: str = "cpu",
        seed: int | None = 0,
    ) -> None:
        self.classes = class_names(classes)
        self.layers, self.stages = tuple(layers), stack(layers, field, polarities, len(self.classes))
        if engine not in _ENGINES:
            raise SettingError(f"engine = {engine!r} must be one of {', '.join(_ENGINES)}: others run time surfaces.")
        self.rule = check_rule(rule or default_rule(len(self.stages)), len(self.stages))
        self.engine, self.seed = engine, seed_number(seed)
        self._parameters: Parameters | None = None

    @property
    def parameters(self) -> Parameters:
        """Weights (`centroids`), thresholds and frozen neurons of every layer."""
        if self._parameters is None:
            raise NotFittedError("This network has no weights yet: call fit or start first.")
        return self._parameters

    @parameters.setter
    def parameters(self, value: Parameters) -> None:
        self._parameters = value.contiguous()

    def start(
        self, recordings: Recordings, *, start: Start = "mean", zeta: float = 0.6, sample: int = 20
    ) -> SpikingNetwork:
        """First weights and thresholds, from a few recordings; see `timesurf.spiking.start`.

        Parameters
        ----------
        recordings : Recordings
            To draw from.
        start : {"mean", "kmeans"}
            The paper's start, or k-means in hidden layers and the mean of each class in the last.
        zeta : float
            Share of noise in "mean".
        sample : int
            How many recordings to draw; each class that is missing among them adds one.
        """
        rng = np.random.default_rng(self.seed)
        batch = sample_of(recordings, self.class_numbers(recordings), sample, rng)
        self.parameters = begin(self.stages, batch, rng, start=start, zeta=zeta)
        return self

    def fit(
        self, recordings: Recordings, *, start: Start = "mean", zeta: float = 0.6, sample: int = 20, **training: Any
    ) -> SpikingNetwork:
        """Learn from a new start: `start`, then `train`, with the parameters of both."""
        return self.start(recordings, start=start, zeta=zeta, sample=sample).train(recordings, **training)

    def train(
        self,
        recordings: Recordings,
        *,
        passes: int = 6,
        decay: bool = False,
        progress: Callable[[Progress], None] | None = None,
    ) -> SpikingNetwork:
        """Continue to learn online, in several passes, each in another random order.

        Parameters
        ----------
        recordings : Recordings
            To learn from; those without a label teach by the local signal alone.
        passes : int
            How often to go through all recordings.
        decay : bool
            Whether rates fall linearly to 0.
        progress : callable, optional
            Called with a `timesurf.learning.trainer.Progress` now and then.
        """
        label = self.class_numbers(recordings)
        batch = pack(recordings, label)
        orders = np.random.default_rng(self.seed)
        number, total = 0, passes * len(recordings)
        for _ in range(passes):
            order = orders.permutation(len(recordings))
            for first in range(0, len(order), _REPORTED):
                some = order[first : first + _REPORTED]
                rule = self.rule.scaled(1 - number / total) if decay else self.rule
                outcome = self._learn(batch, rule, some)
                number += len(some)
                if progress:
                    seen = Outcome(outcome.events[some], outcome.kept[some], outcome.votes[some])
                    accuracy = metrics.labelled_event_accuracy(seen.votes, label[some])
                    progress(Progress(number, total, int(seen.events.sum()), accuracy, metrics.kept(seen)))
        return self

    def _learn(self, batch: Batch, rule: Rule, order: Array | None = None) -> Outcome:
        if self.engine == "reference":
            raise SettingError("engine = 'reference' runs recordings; to learn with it, call spiking.reference.run.")
        return cpu.run(self.stages, self.parameters, batch, rule, order)

    def adapt(self, recordings: Recordings, *, rule: Rule | None = None) -> Outcome:
        """Predict and continue to learn, online and without labels, in the order of the recordings.

        Parameters
        ----------
        recordings : Recordings
            Their labels are ignored.
        rule : Rule, optional
            By default the network's own: `Rule.for_adapting` is too slow for the few spikes of a recording.

        Returns
        -------
        Outcome
            The votes as they were while adapting.
        """
        inference.check_input(self.stages, recordings)  # type: ignore[arg-type]  # field and polarities suffice
        return self._learn(pack(recordings), check_rule(rule or self.rule, len(self.stages)))

    def extend(
        self,
        recordings: Recordings,
        *,
        units: Sequence[int],
        classes: Sequence[Any],
        start: Start = "mean",
        zeta: float = 0.6,
        sample: int = 20,
    ) -> SpikingNetwork:
        """Add neurons and classes for a new task and freeze the old neurons; `train` after.

        Parameters
        ----------
        recordings : Recordings
            Of the new task. The new neurons start from them, as in `start`.
        units : sequence of int
            How many to add to each hidden layer.
        classes : sequence
            The new labels.
        start, zeta, sample
            As in `start`.
        """
        if len(units) != len(self.stages) - 1 or min(units, default=0) < 0:
            raise SettingError(f"units = {units!r} must be a number to add for each of the hidden layers.")
        more = [stage.units + n for stage, n in zip(self.stages, units, strict=False)] + [None]
        layers = [replace(layer, units=n) for layer, n in zip(self.layers, more, strict=True)]
        field, polarities = self.stages[0].field, self.stages[0].polarities
        grown = SpikingNetwork(layers, field, polarities, [*self.classes.tolist(), *classes], seed=self.seed)
        rng = np.random.default_rng(None if self.seed is None else [self.seed, len(grown.classes)])
        batch = sample_of(recordings, grown.class_numbers(recordings), sample, rng)
        self.parameters = begin(grown.stages, batch, rng, start=start, zeta=zeta, old=self.parameters)
        self.layers, self.stages, self.classes = grown.layers, grown.stages, grown.classes
        return self

    def class_numbers(self, recordings: Recordings) -> Array:
        """The class of each recording as a number, -1 if unknown."""
        inference.check_input(self.stages, recordings)  # type: ignore[arg-type]  # field and polarities suffice
        return inference.class_numbers(self.classes, recordings)

    def infer(self, recordings: Recordings) -> Outcome:
        """Run the recordings without learning: spikes of each layer, and votes."""
        inference.check_input(self.stages, recordings)  # type: ignore[arg-type]  # field and polarities suffice
        inference.check_votes(len(recordings), self.stages[-1].units)
        run = _ENGINES[self.engine]
        return Outcome.joined(
            [run(self.stages, self.parameters, pack(recordings[some])) for some in inference.parts(recordings, None)]
        )

    def transform(self, recordings: Recordings, layer: int = -1) -> Recordings:
        """Spikes of a layer (0: the first), as recordings: its places as coordinates, its neurons as polarities."""
        k = inference.layer_number(self.stages, layer)  # type: ignore[arg-type]  # their number suffices
        inference.check_input(self.stages, recordings)  # type: ignore[arg-type]  # field and polarities suffice
        spikes = cpu.emitted(self.stages[: k + 1], Parameters(self.parameters[: k + 1]), pack(recordings))
        field, units = self.stages[k].output_field, self.stages[k].units
        *coords, p = np.unravel_index(spikes.entry, (*field, units))
        return Recordings(coords, spikes.t, p, spikes.offsets, field=field, polarities=units, labels=recordings.labels)

    def predict(self, recordings: Recordings) -> metrics.Decisions:
        """Class number (-1: no output spike) and confidence of each recording, by votes."""
        return metrics.decide(self.infer(recordings).votes)

    def evaluate(self, recordings: Recordings) -> dict[str, Any]:
        """Recording and event accuracy on the labelled recordings; events kept and silent recordings of all."""
        label = self.class_numbers(recordings)
        if (label < 0).all():
            raise EventError("These recordings have no labels to compare with.")
        return metrics.summary(self.infer(recordings), label)
