"""Network: layers, parameters and an engine. Events in, decisions out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

from numpy.typing import NDArray

from timesurf import display, inference, modelfile
from timesurf.calibration import Calibration
from timesurf.engines import Engine, Outcome, Parameters
from timesurf.errors import SettingError
from timesurf.events import Recordings
from timesurf.layers import Layer, stack
from timesurf.learning import adapt, best, grow, sparsity, trainer
from timesurf.learning.best import Fitting, Training
from timesurf.learning.knobs import LAW, Knobs
from timesurf.learning.law import Law, law
from timesurf.learning.start import Starting, begin
from timesurf.learning.trainer import Report
from timesurf.predicting import Predicting
from timesurf.rule import Rule
from timesurf.transforms.preparation import Preparation

Array = NDArray[Any]
_OPTIONS = ("rule", "engine", "dtype", "precision", "threads", "deterministic", "seed", "preparation")


class Network(Predicting):
    """A hierarchy of time surfaces that Sup3r can train.

    Parameters
    ----------
    layers : sequence of Window, Tile or Full
        From the input up. The last has one unit per class and may leave `units` open.
    field, polarities : sequence of int, int
        Of the input, as in `Recordings`.
    classes : sequence
        The labels, in the order of the last layer's units.
    rule : Rule, optional
        Rates of Sup3r.
    engine : str or Engine
        "cpu", "cuda" (a GPU), "auto" (a GPU if there is one), "reference", or `engines.dask.workers.Workers`.
    dtype : {"float32", "float64"}
        Precision of inference and of the batch rule. Parameters are always in float64.
    precision : {"float64", "float32"}
        Of surfaces and distances in online learning on the CPU and in sessions: float32 is several times as fast.
    threads : int, optional
        Cores to use; None uses all. It does not change the result.
    deterministic : bool
        Bit-identical results from run to run on a GPU too, at some cost; the other engines always give them.
    seed : int, optional
        Of the start and of the order of recordings; the same seed gives the same network.
    preparation : Preparation, optional
        What its recordings went through: kept in its file, and repeated by every command. `infer` takes its result.

    Examples
    --------
    >>> from timesurf import Full, Tile
    >>> from timesurf.datasets import sentences
    >>> layers = [Tile((5, 5), units=3, tau="2 ms"), Tile((3, 1), units=6, tau=1), Full(tau=1)]
    >>> network = Network(layers, field=(30, 5), polarities=1, classes=["v/vyty", "vxvyty"])
    >>> network = network.fit(sentences.make(20, seed=0), passes=1)
    >>> network.infer(sentences.make(4, seed=1)).votes.shape
    (4, 2)
    """

    def __init__(
        self,
        layers: Sequence[Layer],
        field: Sequence[int],
        polarities: int,
        classes: Sequence[Any] | Array,
        *,
        rule: Rule | None = None,
        engine: str | Engine = "cpu",
        dtype: str = "float32",
        precision: str = "float64",
        threads: int | None = None,
        deterministic: bool = False,
        seed: int | None = 0,
        preparation: Preparation | None = None,
    ) -> None:
        self.classes = modelfile.class_names(classes)
        for name, value in (("dtype", dtype), ("precision", precision)):
            if value not in modelfile.DTYPES:
                raise SettingError(f"{name} = {value!r} must be {' or '.join(modelfile.DTYPES)}.")
        self.layers = tuple(layers)
        self.stages = stack(self.layers, field, polarities, len(self.classes))
        inference.check_size(self.stages)
        self.rule, self.preparation = rule or Rule(), preparation or Preparation()
        self.rule.per_layer(len(self.stages))  # raises now if it has rates for another number of layers
        self.engine, self.dtype, self.threads, self.deterministic = engine, dtype, threads, deterministic
        self.precision, self.seed = precision, modelfile.seed_number(seed)
        self.history: list[dict[str, Any]] = []
        self.law: Law | None = None  # what the data chose
        self.why: tuple[str, ...] = ()  # the reasons, one line per choice
        self.calibration: dict[str, Calibration] = {}

    @classmethod
    def for_data(cls, recordings: Recordings, *, classes: Any = None, knobs: Knobs = LAW, **options: Any) -> Network:
        """An untrained network chosen from recordings by `timesurf.learning.law`; `law.why` says what was chosen.

        `fit` then trains it as chosen. Options are those of the network, from engine to seed.
        Knobs are factors of what is chosen: those that `timesurf.tuning.tune` found.
        """
        computing = {name: options[name] for name in ("engine", "threads", "seed") if name in options}
        found = law(recordings, knobs=knobs, **computing)
        classes = recordings.classes if classes is None else classes
        network = cls(found.layers, recordings.field, recordings.polarities, classes, rule=found.rule, **options)
        network.law, network.why = found, found.why
        return network

    __repr__ = display.text
    _repr_html_ = display.html

    def start(self, recordings: Recordings, **starting: Unpack[Starting]) -> Network:
        """First centroids and thresholds, from a few recordings; see `timesurf.learning.start`.

        Parameters
        ----------
        recordings : Recordings
            To draw from.
        start : {"mean", "kmeans", "quick", "ridge"}, default "mean"
            The paper's start; k-means in hidden layers and the mean surface of each class in the last; the same from
            fewer surfaces; or the last layer by ridge regression, where pooled places leave it few entries.
        zeta : float, default 0.1
            Share of noise in "mean".
        margin : float, default 1.4
            First thresholds, as a multiple of the largest distance; infinity for no thresholds.
        sample : int, default 20
            How many recordings to draw; each class that is missing among them adds one.
        """
        begin(self, recordings, **starting)
        return self

    def fit(self, recordings: Recordings, **settings: Unpack[Fitting]) -> Network:
        """Learn from a new start: `start`, then `train`, with the parameters of both."""
        best.fit(self, recordings, (self.law.settings(self.layers) if self.law else {}) | settings)  # type: ignore[arg-type]
        return self

    def train(self, recordings: Recordings, **training: Unpack[Training]) -> Network:
        """Continue to learn from recordings, in several passes, each in another random order.

        Recordings without a label teach by the local signal alone, and take no part in validation. `history` gets one
        entry per pass: "recordings", "event_accuracy", "kept" and, with validation, "validation_accuracy".

        Parameters
        ----------
        recordings : Recordings
            To learn from.
        passes : int, default 6
            How often to go through all recordings.
        batch_size : int, optional
            None learns online, the paper's rule; a number learns by the batch rule over so many recordings at a time.
        decay : bool, default False
            Whether rates fall linearly to 0.
        keep : float, optional
            The share of events to keep. Where thresholds do not learn, `fit` sets them so. Where they do, units push
            each other's thresholds back only while more events pass: no strict bound, `tighten` afterwards gets there.
        moved : tuple of int, optional
            Pixels along each dimension: each pass moves each recording by up to so many, either way. Empty: not at all.
        bent : int, default 0
            How many copies of each recording, turned, scaled and sheared a little by `transforms.bend`, to learn from.
        validation : float or Recordings, optional
            Recordings to choose the best pass by, or the share of each class to set aside for it. The network ends with
            the parameters of the pass that has the highest recording accuracy on them.
        patience : int, optional
            Stop after so many passes in a row without a better one.
        if_diverged : {"stop", "clip", "back"}, default "stop"
            When centroids diverge or a layer closes all its thresholds: "stop" with an error; "clip" centroids to
            [0, 1] and reopen the layer; go "back" to where the pass began and continue at half the rates.
        checkpoints : Checkpoints or path, optional
            Where to write checkpoints: given a path, every five minutes; on a GPU, between passes only.
        resume : bool, default False
            Continue from the latest checkpoint, if there is one: bit-identical to a training without interruption.
        progress : callable, optional
            Called with a `timesurf.learning.trainer.Progress` after each part of a pass.
        """
        best.train(self, recordings, **training)
        return self

    def partial_fit(
        self, recordings: Recordings, *, batch_size: int | None = None, progress: Report | None = None
    ) -> Network:
        """Learn once from the recordings in their order, from where the network is."""
        if not self.started:
            self.start(recordings)
        trainer.once(self, recordings, batch_size, progress)
        return self

    def adapt(
        self,
        recordings: Recordings,
        *,
        rule: Rule | None = None,
        cap: float | None = None,
        confidence: float | None = None,
    ) -> Outcome:
        """Predict and continue to learn, online and without labels, in the order of the recordings.

        Parameters
        ----------
        recordings : Recordings
            Their labels are ignored.
        rule : Rule, optional
            By default the network's own with a tenth of beta (`Rule.for_adapting`). Rates of 0 switch a layer off.
        cap : float, optional
            The furthest that any centroid, and any threshold, may move in one recording.
        confidence : float, optional
            Learn only from recordings whose most frequent class has at least this share of the output events.

        Returns
        -------
        Outcome
            The votes as they were while adapting. `snapshot` before and `restore` after undo the learning.
        """
        return adapt.adapt(self, recordings, rule, cap, confidence)

    def extend(
        self, recordings: Recordings, *, units: Sequence[int], classes: Sequence[Any], **starting: Unpack[Starting]
    ) -> Network:
        """Add units and classes for a new task and freeze the old units; `tighten` before, `train` after.

        Parameters
        ----------
        recordings : Recordings
            Of the new task. The new units start from them, with the other parameters of `start`.
        units : sequence of int
            How many to add to each hidden layer.
        classes : sequence
            The new labels.
        """
        return self._become(grow.extended(self, recordings, units, classes, **starting))

    def tighten(
        self,
        recordings: Recordings,
        *,
        keep: float | None = None,
        share: float = 0.99,
        slack: float = 0.2,
        sample: int = 200,
        **training: Any,
    ) -> Network:
        """Lower the thresholds of hidden units: to keep a share of events, or before `extend` freezes the units.

        Parameters
        ----------
        recordings : Recordings
            Those that the network was trained on; some of them are drawn.
        keep : float, optional
            The share of events to keep, see `timesurf.learning.sparsity`. Nothing changes if it is kept already. With
            `passes`, and other parameters of `train`, the last layer then learns again from what is kept.
        share, slack : float
            Without `keep`: units that do not help to classify are dropped, and a threshold falls to `slack` beyond the
            closest `share` of its unit's correctly classified events.
        sample : int
            How many recordings to draw for that.
        """
        if keep is None:
            return self._become(grow.tightened(self, recordings, share, slack, sample))
        validation = training.get("validation")
        if sparsity.tighten(self, recordings, keep, validation):
            self.calibration = {}
            if training.get("passes"):
                with sparsity.only_the_last_learns(self):
                    self.train(recordings, **training)
            elif isinstance(validation, Recordings) and validation.labelled.any():
                self.calibrate(validation)
        return self

    def _become(self, other: Network) -> Network:
        """Take over the layers, the classes and the parameters of another network."""
        self.layers, self.stages, self.classes = other.layers, other.stages, other.classes
        self.parameters, self.calibration = other.parameters, {}  # to be calibrated again
        return self

    def resized(self, units: Sequence[int], classes: Sequence[Any] | Array) -> Network:
        """A network like this one, without parameters, with so many units in its hidden layers and these classes."""
        hidden = [replace(layer, units=n) for layer, n in zip(self.layers, units, strict=False)]
        last, each = self.layers[-1], self.stages[-1].units_per_class
        last = last if last.units is None else replace(last, units=len(classes) * each)
        options: dict[str, Any] = {name: getattr(self, name) for name in _OPTIONS}
        return Network([*hidden, last], self.field, self.polarities, classes, **options)

    def freeze(self, layer: int | None = None, units: Any = slice(None), *, frozen: bool = True) -> Network:
        """Freeze units of a layer (all by default; None: of every layer), or unfreeze them with frozen=False."""
        for k in range(len(self.stages)) if layer is None else [inference.layer_number(self.stages, layer)]:
            self.parameters[k].frozen[units] = frozen
        return self

    def twin(self, parameters: Parameters) -> Network:
        """A network like this one, with other parameters."""
        other = self.resized([stage.units for stage in self.stages[:-1]], self.classes)
        other.parameters, other.history, other.calibration = parameters, list(self.history), dict(self.calibration)
        other.why, other._decides = self.why, self._decides
        return other

    def snapshot(self) -> Parameters:
        """A copy of the parameters, to `restore` later."""
        return self.parameters.copy()

    def restore(self, snapshot: Parameters) -> Network:
        """Go back to a snapshot."""
        self.parameters = snapshot.copy()
        return self

    def save(self, path: str | Path) -> None:
        """Write the network to a file; `Network.load` gives it back bit for bit."""
        modelfile.write(path, modelfile.describe(self), self.parameters)

    @classmethod
    def load(cls, path: str | Path, *, engine: str | Engine = "cpu") -> Network:
        """A network from a file. Everything in the file is checked, nothing in it is executed."""
        arguments, kept, parameters = modelfile.checked(*modelfile.read(path), path)
        network = cls(**arguments, engine=engine)
        for name, value in kept.items():
            setattr(network, name, value)
        network.parameters = parameters
        return network
