"""Network: layers, parameters and an engine. Events in, decisions out."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from timesurf import engines, metrics, modelfile
from timesurf.engines import Engine, Learner, Options, Outcome, Parameters, Trace, Units
from timesurf.errors import DivergedError, EventError, ModelFileError, NotFittedError, SettingError
from timesurf.events import Recordings
from timesurf.layers import Layer, Stage, stack
from timesurf.learning import adapt as adapting
from timesurf.learning import trainer as training
from timesurf.learning.checkpoints import Checkpoints, check_same
from timesurf.learning.grow import grow, tighten
from timesurf.learning.start import Start, initialise
from timesurf.learning.start import check as check_start
from timesurf.learning.trainer import IfDiverged, Progress, Schedule, Standing, parts
from timesurf.rule import Rule
from timesurf.times import readable

Array = NDArray[Any]
_TRACED_AT_ONCE = 1 << 19  # events: a trace is large
_SLOWEST = 1 / 64  # of the rates: what diverges even so will not be helped by going back once more


class Network:
    """A hierarchy of time surfaces that Sup3r can train.

    Parameters
    ----------
    layers : from the input up; the last has one unit a class, and may leave `units` open
    field, polarities : of the events that it takes, as in `Recordings`
    classes : the labels, in the order of the last layer's units
    rule : rates of Sup3r
    engine : "cpu", "cuda" (an NVIDIA GPU; learns in batches), "auto" (a GPU if there is one), "reference", or
        `engines.workers.Workers`, many machines
    dtype : "float32", or "float64", which is slower: what inference and the batch rule compute in. Centroids and
        thresholds are kept, and online learning is done, in float64
    threads : cores to use; None: all. Does not change the result
    deterministic : the same bits from run to run on a GPU too, at some cost; the other engines always give them
    seed : of the start and of the order of recordings; the same seed gives the same network

    >>> from timesurf import Full, Network, Tile
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
        threads: int | None = None,
        deterministic: bool = False,
        seed: int | None = 0,
    ) -> None:
        self.classes = np.asarray(classes)
        if self.classes.ndim != 1 or len(np.unique(self.classes)) != len(self.classes) or not len(self.classes):
            raise SettingError(f"classes = {classes!r} must be a list of different labels, at least one.")
        if dtype not in ("float32", "float64"):
            raise SettingError(f"dtype = {dtype!r} must be float32 or float64.")
        self.layers = tuple(layers)
        self.stages: tuple[Stage, ...] = stack(self.layers, field, polarities, len(self.classes))
        self.rule = rule or Rule()
        self.rule.per_layer(len(self.stages))  # says so now if it has rates for another number of layers
        self.engine = engine
        self.dtype = dtype
        self.threads = threads
        self.deterministic = deterministic
        self.seed = seed
        self.history: list[dict[str, Any]] = []
        self._parameters: Parameters | None = None

    # ------------------------------------------------------------------ what it is

    @property
    def parameters(self) -> Parameters:
        """Centroids and thresholds of every layer."""
        if self._parameters is None:
            raise NotFittedError("This network has no centroids yet: call fit, start or load first.")
        return self._parameters

    @parameters.setter
    def parameters(self, value: Parameters) -> None:
        self._parameters = Parameters(
            Units(
                np.ascontiguousarray(units.centroids, dtype=np.float64),
                np.ascontiguousarray(units.thresholds, dtype=np.float64),
                np.array(units.frozen, dtype=np.bool_),
            )
            for units in value
        )

    @property
    def options(self) -> Options:
        """How the engine computes."""
        return Options(self.dtype, self.threads, self.deterministic)

    @property
    def field(self) -> tuple[int, ...]:
        """Size of the input field."""
        return self.stages[0].field

    @property
    def polarities(self) -> int:
        """Polarities of the input."""
        return self.stages[0].polarities

    def __repr__(self) -> str:
        lines = [f"Network on a field of {' x '.join(map(str, self.field))}, {len(self.classes)} classes"]
        return "\n".join([*lines, *(f"  {k}  {stage}" for k, stage in enumerate(self.stages, start=1))])

    def _repr_html_(self) -> str:
        """For notebooks."""
        rows = "".join(
            f"<tr><td>{k}</td><td>{type(stage.layer).__name__}</td><td>{stage.units}</td>"
            f"<td>{' x '.join(map(str, stage.surface_shape))}</td><td>{readable(stage.tau)}</td></tr>"
            for k, stage in enumerate(self.stages, start=1)
        )
        head = "".join(f"<th>{name}</th>" for name in ("", "layer", "units", "over", "tau"))
        state = "not trained yet" if self._parameters is None else f"{len(self.history)} passes"
        classes = escape(", ".join(map(str, self.classes)))
        field = " x ".join(map(str, self.field))
        return (
            f"<table><caption>Network on a field of {field}, {state}; classes: {classes}</caption>"
            f"<tr>{head}</tr>{rows}</table>"
        )

    # ------------------------------------------------------------------ learning

    def start(
        self,
        recordings: Recordings,
        *,
        start: Start = "mean",
        zeta: float = 0.1,
        margin: float = 1.4,
        sample: int = 20,
    ) -> Network:
        """First centroids and thresholds, from `sample` recordings drawn at random; see `timesurf.learning.start`.

        A class that none of them belongs to adds one recording.
        """
        label = self.class_numbers(recordings)
        rng = np.random.default_rng(self.seed)
        chosen = _drawn(label, sample, rng)
        batch = engines.pack(recordings[chosen], label[chosen])
        self.parameters = initialise(
            engines.load(self.engine), self.stages, batch, rng, start=start, zeta=zeta, margin=margin
        )
        self.history = []
        return self

    def fit(
        self,
        recordings: Recordings,
        *,
        passes: int = 6,
        batch_size: int | None = None,
        decay: bool = False,
        keep: float | None = None,
        validation: float | None = None,
        patience: int | None = None,
        start: Start = "mean",
        zeta: float = 0.1,
        margin: float = 1.4,
        sample: int = 20,
        if_diverged: IfDiverged = "stop",
        checkpoints: Checkpoints | str | Path | None = None,
        resume: bool = False,
        progress: Callable[[Progress], None] | None = None,
    ) -> Network:
        """Start anew from `sample` of the recordings and learn from all; see `start` and `train`."""
        if passes < 0:
            raise SettingError(f"passes = {passes!r} must be 0 or more.")
        checkpoints = Checkpoints.at(checkpoints)
        if not (resume and checkpoints and checkpoints.latest()):
            self.start(recordings, start=start, zeta=zeta, margin=margin, sample=sample)
        return self.train(
            recordings, passes=passes, batch_size=batch_size, decay=decay, keep=keep, validation=validation,
            patience=patience, if_diverged=if_diverged, checkpoints=checkpoints, resume=resume, progress=progress,
        )  # fmt: skip

    def train(
        self,
        recordings: Recordings,
        *,
        passes: int = 6,
        batch_size: int | None = None,
        decay: bool = False,
        keep: float | None = None,
        validation: float | None = None,
        patience: int | None = None,
        if_diverged: IfDiverged = "stop",
        checkpoints: Checkpoints | str | Path | None = None,
        resume: bool = False,
        progress: Callable[[Progress], None] | None = None,
    ) -> Network:
        """Learn from where the network stands, `passes` times, each time in another random order.

        batch_size : None: online, the paper's rule; a number: the batch rule over so many recordings at a time
        decay : let the rates fall linearly to 0
        keep : share of events; units push each other's thresholds back only while more than this passes: a brake on how
            much is rejected, not a bound
        validation : hold out this share of every class, test after every pass, keep the best network of them all
        patience : stop after so many passes in a row without a better one
        if_diverged : where centroids flee or a layer closes all its thresholds: "stop" with an error that names them;
            "clip" them, back to between 0 and 1, and a silent layer's thresholds to what they were a step before; go
            "back" to where the pass began, and on from there at half the rates
        checkpoints : a folder to keep in, every five minutes, where training stands, or `Checkpoints` that say more;
            on a GPU, which takes whole passes, when a pass ends
        resume : go on from the latest of them, if there is one: to the same bits as if it had never been interrupted

        Recordings without labels (or labelled -1) teach by the local signal alone. `history` gets one line a pass.
        """
        if patience is not None and validation is None:
            raise SettingError("patience needs a validation share to judge by.")
        if if_diverged not in get_args(IfDiverged):
            raise SettingError(f"if_diverged = {if_diverged!r} must be one of {', '.join(get_args(IfDiverged))}.")
        rng, checkpoints = self.shuffler(), Checkpoints.at(checkpoints)
        standing = Standing(dict(rng.bit_generator.state))
        how = {"passes": passes, "batch_size": batch_size, "decay": decay, "keep": keep, "validation": validation,
               "patience": patience, "if_diverged": if_diverged, "recordings": recordings.fingerprint()}  # fmt: skip
        if checkpoints:
            checkpoints.open(resume=resume)
            if resume:
                standing = self._resumed(checkpoints, how) or standing
                rng.bit_generator.state = standing.order
        held = None
        if validation is not None:
            learnt, tested = training.hold_out(self.class_numbers(recordings), validation, rng)
            recordings, held = recordings[learnt], recordings[tested]
        for _ in range(standing.passes):
            rng.permutation(len(recordings))  # orders of the passes that are done already

        def reached(*, end: bool = False) -> None:
            number = standing.passes * len(recordings) + standing.done
            if checkpoints and (end or checkpoints.due(number)):
                checkpoints.write(number, self._about() | {"how": how}, self.parameters, standing)

        while standing.passes < passes and not (
            patience is not None and standing.passes > standing.best_pass + patience
        ):
            order = rng.permutation(len(recordings))
            schedule = Schedule(standing.passes * len(recordings), passes * len(recordings), batch_size, decay, keep)
            self._learn(recordings[order], schedule, progress, standing, reached, if_diverged)
            if held is not None:
                accuracy = self.history[-1]["validation_accuracy"] = self.evaluate(held)["recording_accuracy"]
                if accuracy > standing.best_accuracy:
                    standing.best_pass = standing.passes
                if accuracy >= standing.best_accuracy:  # of equals the last: it has learnt more
                    standing.best, standing.best_accuracy = self.snapshot(), accuracy
                    if checkpoints:
                        checkpoints.write_best(self._about(), standing.best)
            standing.passes += 1
            standing.begin_pass()
            reached()
        reached(end=True)
        return self if standing.best is None else self.restore(standing.best)

    def partial_fit(
        self,
        recordings: Recordings,
        *,
        batch_size: int | None = None,
        progress: Callable[[Progress], None] | None = None,
    ) -> Network:
        """Learn once from the recordings in their order, from where the network stands."""
        if self._parameters is None:
            self.start(recordings)
        self._learn(recordings, Schedule(0, len(recordings), batch_size), progress)
        return self

    def adapt(
        self,
        recordings: Recordings,
        *,
        rule: Rule | None = None,
        cap: float | None = None,
        confidence: float | None = None,
    ) -> Outcome:
        """Predict and go on learning, online and without labels, in the order of the recordings.

        rule : the network's own, with a tenth of beta (`Rule.for_adapting`), unless given; 0 switches a layer off
        cap : the furthest that any centroid, and any threshold, may move in one recording
        confidence : learn only from recordings whose majority has at least this share of the output events

        The outcome holds the votes as they were cast while adapting. `snapshot` before, `restore` after, undo it.
        """
        rule = rule or self.rule.for_adapting()
        rule.per_layer(len(self.stages))
        adapting.check(cap, confidence)
        self._check_input(recordings)
        guarded = cap is not None or confidence is not None
        batches = (engines.pack(recordings[part]) for part in parts(recordings, 1 if guarded else None))
        outcome = adapting.adapt(
            engines.load(self.engine), self.stages, self.parameters, rule, batches, self.options,
            cap=cap, confidence=confidence,
        )  # fmt: skip
        training.check_sane(self.parameters)
        return outcome

    def extend(
        self,
        recordings: Recordings,
        *,
        units: Sequence[int],
        classes: Sequence[Any],
        start: Start = "mean",
        zeta: float = 0.1,
        margin: float = 1.4,
        sample: int = 20,
    ) -> Network:
        """Grow for a new task: more units in each hidden layer, new classes in the last; what was there is frozen.

        The new units start from `sample` of the recordings, which are of the new task; then `train` on them. Before,
        `tighten` what was learnt so far.
        """
        if len(units) != len(self.stages) - 1 or min(units, default=0) < 0:
            raise SettingError(
                f"units = {units!r} must name how many to add in each of the {len(self.stages) - 1} hidden layers."
            )
        names = [*self.classes.tolist(), *classes]
        grown = self._with_units([stage.units + n for stage, n in zip(self.stages, units, strict=False)], names)
        label = grown.class_numbers(recordings)
        rng = np.random.default_rng(None if self.seed is None else [self.seed, 2, len(self.history)])
        chosen = _drawn(label, sample, rng)
        batch = engines.pack(recordings[chosen], label[chosen])
        engine = engines.load(self.engine)
        check_start(batch, start, zeta, margin)
        parameters = grow(engine, grown.stages, self.parameters, batch, rng, start=start, zeta=zeta, margin=margin)
        self.layers, self.stages, self.classes = grown.layers, grown.stages, grown.classes
        self.parameters = parameters
        return self

    def tighten(self, recordings: Recordings, *, share: float = 0.99, slack: float = 0.2, sample: int = 200) -> Network:
        """Drop hidden units that tell nothing and close the others' thresholds around what the network gets right.

        A threshold falls to `slack` beyond the closest `share` of its unit's events that came out right, in `sample` of
        the recordings, which are those it was trained on. Do this before `extend`: frozen units cannot give way to the
        next task. Units that are frozen already stay as they are.
        """
        if not 0 < share <= 1 or not slack >= 0:
            raise SettingError(f"share = {share!r} must lie between 0 and 1, slack = {slack!r} must not be negative.")
        chosen = np.sort(np.random.default_rng(self.seed).permutation(len(recordings))[:sample])
        some = recordings[chosen]
        label = np.repeat(self.class_numbers(some), some.counts)
        parameters = tighten(self.parameters, self.trace(some), label, share=share, slack=slack)
        fewer = self._with_units([len(units.thresholds) for units in parameters[:-1]], self.classes)
        self.layers, self.stages, self.parameters = fewer.layers, fewer.stages, parameters
        return self

    def _with_units(self, units: Sequence[int], classes: Sequence[Any] | Array) -> Network:
        """A network like this one, without parameters, with so many units in its hidden layers and these classes."""
        hidden = [replace(layer, units=n) for layer, n in zip(self.layers, units, strict=False)]
        last = self.layers[-1] if self.layers[-1].units is None else replace(self.layers[-1], units=len(classes))
        return Network(
            [*hidden, last], self.field, self.polarities, classes,
            rule=self.rule, engine=self.engine, dtype=self.dtype, threads=self.threads,
            deterministic=self.deterministic, seed=self.seed,
        )  # fmt: skip

    def freeze(self, layer: int | None = None, units: Any = slice(None), *, frozen: bool = True) -> Network:
        """Freeze units of a layer (all by default; None: of every layer), or let them go again with frozen=False."""
        for k in range(len(self.stages)) if layer is None else [self.layer_number(layer)]:
            self.parameters[k].frozen[units] = frozen
        return self

    def twin(self, parameters: Parameters) -> Network:
        """A network like this one, with other parameters."""
        other = self._with_units([stage.units for stage in self.stages[:-1]], self.classes)
        other.parameters, other.history = parameters, list(self.history)
        return other

    def snapshot(self) -> Parameters:
        """The parameters as they are now, to `restore` later."""
        return self.parameters.copy()

    def restore(self, snapshot: Parameters) -> Network:
        """Go back to a snapshot."""
        self.parameters = snapshot.copy()
        return self

    def learner(self, recordings: Recordings) -> Learner:
        """The network before recordings to learn from, as an engine takes it."""
        kept = self.history[-1]["kept"] if self.history else 1.0
        return Learner(self.stages, self.parameters, recordings, self.class_numbers(recordings), kept)

    def shuffler(self) -> np.random.Generator:
        """What draws the order of recordings from here on."""
        return np.random.default_rng(None if self.seed is None else [self.seed, 1 + len(self.history)])

    def _learn(
        self,
        recordings: Recordings,
        schedule: Schedule,
        progress: Callable[[Progress], None] | None,
        standing: Standing | None = None,
        reached: Callable[[], None] = lambda: None,
        if_diverged: IfDiverged = "stop",
    ) -> None:
        """One pass, or what is left of it; where it diverges and may go back, again and slower."""
        standing = standing or Standing({})
        if if_diverged == "back" and standing.done == 0:
            standing.good = self.snapshot()
        while True:
            rule = self.rule.scaled(standing.pace) if standing.pace < 1 else self.rule
            try:
                figures = training.one_pass(
                    engines.load(self.engine), self.learner(recordings), rule, schedule, self.options, progress,
                    standing=standing, reached=reached, clip=if_diverged == "clip",
                )  # fmt: skip
                break
            except DivergedError:
                if standing.good is None or standing.pace <= _SLOWEST:
                    raise
                self.restore(standing.good)
                standing.begin_pass()
                standing.pace /= 2
        told = {"clipped": standing.clipped} if standing.clipped else {}
        self.history.append(figures | told | ({"pace": standing.pace} if standing.pace < 1 else {}))

    def _resumed(self, checkpoints: Checkpoints, how: dict[str, Any]) -> Standing | None:
        """Take over the latest checkpoint, if there is one: parameters, history, and where the training stood."""
        found = checkpoints.latest()
        if found is None:
            return None
        about, tensors, standing = found
        asked = json.loads(json.dumps({name: value for name, value in self._about().items() if name != "history"}))
        check_same(asked | json.loads(json.dumps(how)), about | about["how"])
        if standing.passes > how["passes"]:
            raise ModelFileError(f"{checkpoints.folder}: more passes are done than were asked for.")
        self.parameters = modelfile.parameters_from(tensors, self.stages, checkpoints.folder)
        for name in ("good", "best"):
            if f"{name}.layer1.centroids" in tensors:
                kept = modelfile.parameters_from(tensors, self.stages, checkpoints.folder, f"{name}.")
                setattr(standing, name, kept)
        self.history = about["history"]
        return standing

    # ------------------------------------------------------------------ running

    def infer(self, recordings: Recordings) -> Outcome:
        """Run the recordings: events that each layer kept, and votes of the last. Learns nothing."""
        self._check_input(recordings)
        engine = engines.load(self.engine)
        if hasattr(engine, "infer_all"):
            return engine.infer_all(self.stages, self.parameters, recordings, self.options)  # type: ignore[no-any-return]
        batches = (engines.pack(recordings[part]) for part in parts(recordings, None))
        return Outcome.joined([engine.infer(self.stages, self.parameters, batch, self.options) for batch in batches])

    def trace(self, recordings: Recordings) -> Trace:
        """What happened to every event of the recordings: winners, distances and S of every layer.

        S takes the recordings' labels for G; without labels G = +1.
        """
        batch = engines.pack(recordings, self.class_numbers(recordings))
        trace = engines.load(self.engine).infer(self.stages, self.parameters, batch, self.options, trace=True).trace
        assert trace is not None
        return trace

    def transform(self, recordings: Recordings, layer: int = -1) -> Recordings:
        """Events that a layer emits, as recordings: its output field, its units as polarities. 0 is the first layer."""
        k = self.layer_number(layer)
        self._check_input(recordings)
        stages, emitted, counts = self.stages[: k + 1], [], [np.zeros(1, dtype=np.int64)]
        for part in parts(recordings, None, _TRACED_AT_ONCE):
            some = recordings[part]
            trace = self.trace(some)
            passed = trace.passed > k
            x = tuple(v[passed] for v in some.coords)
            for stage in stages:
                x = stage.layer.output(x)  # type: ignore[arg-type, assignment]  # works on arrays as on numbers
            emitted.append((*x, some.t[passed], trace.winner[passed, k]))
            counts.append(np.diff(np.concatenate([[0], np.cumsum(passed)])[some.offsets]))
        *coords, t, p = map(np.concatenate, zip(*emitted, strict=True))
        return Recordings(
            coords,
            t,
            p,
            np.cumsum(np.concatenate(counts)),
            field=stages[-1].output_field,
            polarities=stages[-1].units,
            labels=recordings.labels,
        )

    def surfaces(self, recordings: Recordings, layer: int = 0) -> Array:
        """Time surfaces of all events that reach a layer, one row a event."""
        self._check_input(recordings)
        engine = engines.load(self.engine)
        return engine.surfaces(self.stages, self.parameters, engines.pack(recordings), self.layer_number(layer))

    def evaluate(self, recordings: Recordings) -> dict[str, Any]:
        """Accuracy of output events and of their majority, kept events (also by layer), silent recordings."""
        if recordings.labels is None:
            raise EventError("These recordings have no labels to compare with.")
        label = self.class_numbers(recordings)
        if (label < 0).any():
            raise EventError(f"recording {int(np.argmax(label < 0))} has no label to compare with.")
        figures = metrics.summary(self.infer(recordings), label)
        del figures["confusion"]  # a table, not a figure
        return figures

    def layer_number(self, layer: int) -> int:
        """The layer's number from 0 up; -1 is the last."""
        if not -len(self.stages) <= layer < len(self.stages):
            raise SettingError(f"layer = {layer} does not exist: this network has layers 0 to {len(self.stages) - 1}.")
        return layer % len(self.stages)

    def _check_input(self, recordings: Recordings) -> None:
        if not isinstance(recordings, Recordings):
            raise EventError(
                f"Recordings are needed, not {type(recordings).__name__}: "
                "Recordings.from_structured makes them from arrays with fields x, y, t, p."
            )
        if len(recordings) == 0:
            raise EventError("No recordings.")
        if recordings.field != self.field or recordings.polarities != self.polarities:
            raise EventError(
                f"The recordings have field {recordings.field} and {recordings.polarities} polarities; "
                f"this network takes {self.field} and {self.polarities}."
            )

    def class_numbers(self, recordings: Recordings) -> Array:
        """Each recording's class as a number, -1 if unknown."""
        self._check_input(recordings)
        labels = recordings.labels
        if labels is None:
            return np.full(len(recordings), -1)
        order = np.argsort(self.classes)
        place = np.minimum(np.searchsorted(self.classes, labels, sorter=order), len(order) - 1)
        label = order[place]
        unlabelled = ~recordings.labelled
        strange = (self.classes[label] != labels) & ~unlabelled
        if strange.any():
            r = int(np.argmax(strange))
            raise EventError(f"recording {r} has label {labels[r]}, which is none of {self.classes.tolist()}.")
        return np.where(unlabelled, -1, label)

    # ------------------------------------------------------------------ files

    def save(self, path: str | Path) -> None:
        """Write the network to a file; `Network.load` gives it back bit for bit."""
        modelfile.write(path, self._about(), self.parameters)

    def _about(self) -> dict[str, Any]:
        """What a file says of the network, parameters aside."""
        return {
            "layers": [modelfile.layer_to_dict(layer) for layer in self.layers],
            "field": self.field,
            "polarities": self.polarities,
            "classes": self.classes.tolist(),
            "rule": self.rule.to_dict(),
            "dtype": self.dtype,
            "seed": self.seed,
            "history": self.history,
        }

    @classmethod
    def load(cls, path: str | Path, *, engine: str | Engine = "cpu") -> Network:
        """A network from a file. Nothing in the file is run or believed unchecked."""
        about, tensors = modelfile.read(path)
        try:
            modelfile.check(about)
            network = cls(
                [modelfile.layer_from_dict(layer) for layer in about["layers"]],
                about["field"],
                about["polarities"],
                about["classes"],
                rule=modelfile.rule_from_dict(about["rule"]),
                engine=engine,
                dtype=about["dtype"],
                seed=about["seed"],
            )
            network.history = about["history"]
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            raise ModelFileError(f"{path} describes no network: {error}") from error
        network.parameters = modelfile.parameters_from(tensors, network.stages, path)
        return network


def _drawn(label: Array, sample: int, rng: np.random.Generator) -> Array:
    """Numbers of `sample` recordings drawn at random, and of one more for every class that is missing among them."""
    order = rng.permutation(len(label))
    rest = order[sample:]
    missing = [rest[label[rest] == c][:1] for c in np.setdiff1d(label, label[order[:sample]])]
    return np.sort(np.concatenate([order[:sample], *missing]))
