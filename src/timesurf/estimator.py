"""Sup3rClassifier: a network as a scikit-learn estimator."""

from __future__ import annotations

import copy
import inspect
import time
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from timesurf import metrics
from timesurf.errors import EventError
from timesurf.events import Recordings
from timesurf.layers import Layer
from timesurf.learning import sparsity
from timesurf.learning.calibrate import cross_calibrate
from timesurf.learning.checkpoints import Checkpoints
from timesurf.learning.divergence import IfDiverged
from timesurf.learning.start import Start, Starting
from timesurf.learning.trainer import Progress
from timesurf.network import Network
from timesurf.predicting import Decide
from timesurf.rule import Kernel, Last, PerLayer, Rule

Array = NDArray[Any]
_FITTING = (
    "passes", "batch_size", "decay", "keep", "moved", "bent", "validation", "patience", "if_diverged", "checkpoints",
    "resume", "start", "zeta", "margin", "sample",
)  # fmt: skip
_SECONDS = 2.0  # between two lines of `verbose`


class Sup3rClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Classify recordings of events with a hierarchy of time surfaces.

    Given layers learn by Sup3r, all of them. Without, a network is chosen from the data: k-means below, which rests,
    and a last layer that learns by the delta rule.

    X is always `Recordings`; y, where given, replaces their own labels. A recording without a label (-1, or "" among
    text) teaches without one, and no accuracy counts it.

    Parameters
    ----------
    layers : sequence of Window, Tile or Full, optional
        From the input up; the last gets one unit per class. None chooses layers, rule and training from the data, see
        `timesurf.learning.law`; a setting that is given, and is not its default here, is used all the same.
    passes : int
        How often `fit` goes through the recordings.
    batch_size : int, optional
        None learns online, after each event; a number learns by the batch rule over so many recordings.
    decay : bool
        Whether rates fall linearly to 0.
    keep : float, optional
        Share of events to keep. `fit` reaches it: if it must set thresholds after training, the last layer learns again
        in a third of the passes.
    moved : tuple of int
        Pixels along each dimension: each pass moves each recording by up to so many, either way.
    bent : int
        How many copies of each recording, turned, scaled and sheared a little, to learn from too.
    validation, patience, if_diverged, checkpoints, resume
        How to train, see `Network.train`.
    alpha, beta, gamma, delta, d, kernel, competition, last, temperature
        The rule, see `timesurf.Rule`.
    start, zeta, margin, sample
        First centroids and thresholds, see `Network.start`.
    decide : {"votes", "evidence"}, optional
        How `predict` decides; None: by evidence if `last` is "delta", as it is where the data chooses, else by votes.
    calibrate : bool, optional
        Whether `fit` makes probabilities of `predict_proba` that can be relied on. With `validation` it does so on the
        recordings set aside. Without, it trains twice more, on one half of the recordings each, and uses what each of
        these networks makes of the other half: training takes twice as long. None: where decisions are by evidence.
    engine, dtype, precision, threads, deterministic
        What computes, in which precision, on how many cores; see `Network`.
    random_state : int, optional
        Seed; the same seed gives the same network.
    client : dask.distributed.Client, optional
        Its workers learn in batches and infer with that engine.
    verbose : bool
        Whether `fit` prints how far it has come, every few seconds.

    Attributes
    ----------
    classes_ : array
        Labels, in the order of the last layer's units.
    network_ : timesurf.Network
        The trained network.

    Notes
    -----
    Settings of layers are parameters too, such as `layers__0__tau`, for `set_params` and searches like `GridSearchCV`.

    Examples
    --------
    >>> from timesurf import Full, Sup3rClassifier, Tile
    >>> from timesurf.datasets import sentences
    >>> layers = [Tile((5, 5), units=3, tau="2 ms"), Tile((3, 1), units=6, tau=1), Full(tau=1)]
    >>> classifier = Sup3rClassifier(layers, passes=1, random_state=0).fit(sentences.make(20, seed=0))
    >>> classifier.predict_proba(sentences.make(4, seed=1)).shape
    (4, 2)
    """

    network_: Network
    classes_: Array

    def __init__(
        self,
        layers: Sequence[Layer] | None = None,
        *,
        passes: int = 6,
        batch_size: int | None = None,
        decay: bool = False,
        keep: float | None = None,
        moved: tuple[int, ...] = (),
        bent: int = 0,
        validation: float | Recordings | None = None,
        patience: int | None = None,
        if_diverged: IfDiverged = "stop",
        checkpoints: Checkpoints | str | Path | None = None,
        resume: bool = False,
        alpha: PerLayer = 1e-4,
        beta: PerLayer = 1e-4,
        gamma: PerLayer = 1e-4,
        delta: PerLayer = 5e-6,
        d: PerLayer = 0.3,
        kernel: Kernel = "border",
        competition: bool = True,
        last: Last = "sup3r",
        temperature: float = 5.0,
        start: Start = "mean",
        zeta: float = 0.1,
        margin: float = 1.4,
        sample: int = 20,
        decide: Decide | None = None,
        calibrate: bool | None = None,
        engine: str = "cpu",
        dtype: str = "float32",
        precision: str = "float64",
        threads: int | None = None,
        deterministic: bool = False,
        random_state: int | None = None,
        client: Any = None,
        verbose: bool = False,
    ) -> None:
        self.layers = layers
        self.passes = passes
        self.batch_size = batch_size
        self.decay = decay
        self.keep = keep
        self.moved = moved
        self.bent = bent
        self.validation = validation
        self.patience = patience
        self.if_diverged = if_diverged
        self.checkpoints = checkpoints
        self.resume = resume
        self.alpha = alpha
        self.beta = beta
        self.gamma = gamma
        self.delta = delta
        self.d = d
        self.kernel = kernel
        self.competition = competition
        self.last = last
        self.temperature = temperature
        self.start = start
        self.zeta = zeta
        self.margin = margin
        self.sample = sample
        self.decide = decide
        self.calibrate = calibrate
        self.engine = engine
        self.dtype = dtype
        self.precision = precision
        self.threads = threads
        self.deterministic = deterministic
        self.random_state = random_state
        self.client = client
        self.verbose = verbose

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """All settings by name; with `deep` also those of each layer, as `layers__0__tau`."""
        settings: dict[str, Any] = super().get_params(deep=False)
        for k, layer in enumerate(self.layers or () if deep else ()):
            settings |= {f"layers__{k}__{of.name}": getattr(layer, of.name) for of in fields(layer)}
        return settings

    def set_params(self, **params: Any) -> Sup3rClassifier:
        """Change settings; `layers__0__tau` changes one of the first layer."""
        nested = {name: params.pop(name) for name in list(params) if name.startswith("layers__")}
        super().set_params(**params)
        layers = list(self.layers or ())
        for name, value in nested.items():
            number, _, setting = name.removeprefix("layers__").partition("__")
            if not number.isdecimal() or int(number) >= len(layers) or not hasattr(layers[int(number)], setting):
                raise ValueError(f"{name} is no setting of {len(layers)} layers.")
            layers[int(number)] = replace(layers[int(number)], **{setting: value})
        if nested:
            self.layers = layers
        return self

    def fit(self, X: Recordings, y: Any = None) -> Sup3rClassifier:
        """Learn from the recordings, from a new start.

        Parameters
        ----------
        X : Recordings
            To learn from.
        y : array, optional
            Labels, in place of those of X; -1 for none.

        Returns
        -------
        Sup3rClassifier
            Itself.
        """
        X = _labelled(X, y)
        self._build(X, X.classes)
        settings: Any = self._settings(_FITTING)
        self.network_.fit(X, **settings, progress=_Printed() if self.verbose else None)
        if self.keep is not None and len(self.network_.stages) > 1:
            same = ("passes", "batch_size", "moved", "bent", "if_diverged", "validation")
            again = {name: self._fitting(name) for name in same}
            again |= {"passes": -(-again["passes"] // 3), "decay": True}
            self.network_.tighten(X, keep=self.keep, **again)
        asked = self.keep is not None or (self.gamma, self.delta) != (Rule().gamma, Rule().delta)
        if asked and (why := sparsity.all_kept(self.network_, X, self.keep)):
            warnings.warn(why, stacklevel=2)
        wanted = self.network_.decides == "evidence" if self.calibrate is None else self.calibrate
        if not wanted:
            self.network_.calibration = {}
        elif not self.network_.calibration:
            chosen: Any = {} if self.network_.law is None else self.network_.law.fitting
            cross_calibrate(self.network_, X, chosen | settings)
        return self

    def partial_fit(self, X: Recordings, y: Any = None, classes: Any = None) -> Sup3rClassifier:
        """Learn once from the recordings, in their order. The first call starts the network.

        Parameters
        ----------
        X, y
            As in `fit`; once the classes are known, no label is needed.
        classes : array, optional
            On the first call, all labels that will ever come, if the first recordings lack some.

        Returns
        -------
        Sup3rClassifier
            Itself.
        """
        first = not hasattr(self, "network_")
        X = _labelled(X, y, needed=first and classes is None)
        if first:
            self._build(X, X.classes if classes is None else np.unique(classes))
            starting: Any = {name: self._fitting(name) for name in Starting.__annotations__}
            self.network_.start(X, **starting)
        self.network_.partial_fit(X, batch_size=self._fitting("batch_size"))
        return self

    def predict(self, X: Recordings) -> Array:
        """The class of each recording, by its output events' evidence or votes. Warns where a recording has none.

        Also warns where all get one class though X has labels of several.
        """
        check_is_fitted(self)
        decided = self.network_.predict(X).classes
        if silent := int((decided == metrics.SILENT).sum()):
            warnings.warn(
                f"{silent} of {len(decided)} recordings produced no output event; "
                f"they are given the first class, {self.classes_[0]!r}, and `score` counts them as wrong.",
                stacklevel=2,
            )
        self._warn_if_one_class(decided, X)
        predicted: Array = self.classes_[np.maximum(decided, 0)]
        return predicted

    def _warn_if_one_class(self, decided: Array, X: Recordings) -> None:
        """Warn where all recordings with a label get one class though their labels are several."""
        found = decided[X.labelled]
        if len(set(found.tolist())) == 1 < len(X.classes) and found[0] != metrics.SILENT:
            only = self.classes_.tolist()[found[0]]
            warnings.warn(
                f"All {len(found):,} recordings get one class, {only!r}: the network has not learned to distinguish "
                "them. Sup3rClassifier() without layers chooses settings from the data.",
                stacklevel=3,
            )

    def predict_proba(self, X: Recordings) -> Array:
        """Probability of each class, see `calibrate`; equal ones where a recording has no output event.

        Not calibrated, they are the classes' shares of the output events, where these decide by votes.
        """
        check_is_fitted(self)
        return self.network_.probabilities(self.network_.infer(X))

    def score(self, X: Recordings, y: Any = None, sample_weight: Any = None) -> float:
        """Recording accuracy on the labelled recordings; one without output events counts as wrong.

        Parameters
        ----------
        X : Recordings
            To classify.
        y : array, optional
            Labels, in place of those of X; -1 for none.
        sample_weight : array, optional
            Weight of each recording.

        Returns
        -------
        float
            The fraction of recordings classified correctly.
        """
        check_is_fitted(self)
        X = _labelled(X, y)
        decided, known = self.network_.predict(X).classes, X.labelled
        self._warn_if_one_class(decided, X)
        right = (self.classes_[np.maximum(decided, 0)] == X.labels) & (decided != metrics.SILENT)
        return float(
            np.average(right[known], weights=None if sample_weight is None else np.asarray(sample_weight)[known])
        )

    def evaluate(self, X: Recordings, y: Any = None) -> dict[str, Any]:
        """Figures on labelled recordings, and which classes are taken for which.

        Parameters
        ----------
        X, y
            As in `score`.

        Returns
        -------
        dict
            As `Network.evaluate`, and `confusion`: an array of recordings by true class (rows) and predicted class
            (columns, in the order of `classes_`; the last one: no output event).
        """
        X = _labelled(X, y)
        check_is_fitted(self)
        outcome, label = self.network_.infer(X), self.network_.class_numbers(X)
        confusion = metrics.confusion(outcome.votes, label, outcome.evidence)
        self._warn_if_one_class(self.network_.decide(outcome).classes, X)
        return metrics.summary(outcome, label, self.network_.calibrated(outcome)) | {"confusion": confusion}

    def transform(self, X: Recordings, layer: int = -1) -> Recordings:
        """Events that a layer emits (0 is the first), as recordings."""
        check_is_fitted(self)
        return self.network_.transform(X, layer)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "network_")

    def __sklearn_tags__(self) -> Any:
        """A classifier of recordings, which check themselves and may bring their own labels."""
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.target_tags.required = False
        tags.no_validation = True
        return tags

    def __sklearn_clone__(self) -> Sup3rClassifier:
        """An unfitted estimator with the same parameters; the client is shared, since it cannot be copied."""
        settings = self.get_params(deep=False)
        client = settings.pop("client")
        return type(self)(**copy.deepcopy(settings), client=client)

    def _settings(self, names: Iterable[str]) -> dict[str, Any]:
        """Those of these settings to use: all, or those that are not at their defaults where the data chooses."""
        mine = {name: getattr(self, name) for name in names}
        if self.layers is not None:
            return mine
        defaults = inspect.signature(type(self)).parameters
        return {name: value for name, value in mine.items() if value is not defaults[name].default}

    def _fitting(self, name: str) -> Any:
        """One argument of `Network.fit`."""
        chosen = {} if self.network_.law is None else self.network_.law.fitting
        return (chosen | self._settings(_FITTING)).get(name, getattr(self, name))

    def _build(self, X: Recordings, classes: Array) -> None:
        options: dict[str, Any] = {
            "engine": self.engine if self.client is None else _workers(self.client, self.engine),
            "dtype": self.dtype, "precision": self.precision, "threads": self.threads,
            "deterministic": self.deterministic, "seed": self.random_state,
        }  # fmt: skip
        rule = self._settings(field.name for field in fields(Rule))
        if self.layers is None:
            network = Network.for_data(X, classes=classes, **options)
            network.rule = replace(network.rule, **rule)
        else:
            network = Network(self.layers, X.field, X.polarities, classes, rule=Rule(**rule), **options)
        network.decides = self.decide
        self.network_, self.classes_ = network, network.classes


class _Printed:
    """Prints how far a training has come, every few seconds and at its end."""

    def __init__(self) -> None:
        self._due = 0.0

    def __call__(self, now: Progress) -> None:
        if time.monotonic() >= self._due or now.done >= now.total:
            self._due = time.monotonic() + _SECONDS
            print(  # what `verbose` asks for
                f"{now.done:,} of {now.total:,} recordings: event accuracy {now.event_accuracy:.1%}, "
                f"{now.kept:.1%} of events kept",
                flush=True,
            )


def _workers(client: Any, engine: str) -> Any:
    from timesurf.engines.dask.workers import Workers

    return Workers(client, engine=engine)


def _labelled(X: Any, y: Any, *, needed: bool = True) -> Recordings:
    """X with y as its labels; at least one must be known, if they are needed."""
    if not isinstance(X, Recordings):
        raise EventError(
            f"X must be Recordings, not {type(X).__name__}: "
            "Recordings.from_structured makes them from arrays with fields x, y, t, p."
        )
    labelled: Recordings = X if y is None else X.with_labels(y)
    if needed and not labelled.labelled.any():
        raise EventError("There are no labels: give y, or recordings with labels.")
    return labelled
