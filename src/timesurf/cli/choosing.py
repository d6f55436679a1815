"""Settings of `timesurf train`: chosen from the data, tuned, of a preset, or given back in a file."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import typer

from timesurf.cli.app import NETWORK, check_engine, console
from timesurf.cli.data import taus_of
from timesurf.errors import SettingError
from timesurf.storage.atomic import replacing

_TUNED = "tuned.json"  # in the folder of a run: --resume continues with what was found, and tunes no second time


class Chosen(NamedTuple):
    """What the data chose, if they did."""

    law: Any = None
    tuned: Any = None
    given: tuple[str, ...] = ()  # what options say in its place, one line per choice
    asked: Any = None  # of tuning

    @property
    def why(self) -> tuple[str, ...]:
        """The reasons, one line per choice."""
        if self.law is None:
            return ()
        trains = any(line.startswith("training:") for line in self.given)
        why = tuple(line for line in self.law.why if not (trains and line.startswith("training:")))
        return (*why, *self.given, *(() if self.tuned is None else (self.tuned.why,)))

    def about(self) -> dict[str, Any]:
        """For the record of the run."""
        return {"why": self.why} | ({} if self.tuned is None else {"tuning": self.tuned.to_dict()})

    def keep(self, run: Path) -> None:
        """What tuning found, in the folder of the run, before training begins."""
        if self.tuned is None:
            (run / _TUNED).unlink(missing_ok=True)
            return
        with replacing(run / _TUNED) as file:
            file.write((json.dumps({"asked": self.asked, "found": self.tuned.to_dict()}) + "\n").encode())


def check(ctx: typer.Context) -> None:
    """Refuse settings that are none, before any data is read and any folder made."""
    from timesurf.learning.divergence import check_choice
    from timesurf.learning.split import check_shares
    from timesurf.presets import from_dict, named
    from timesurf.rule import RATES, Rule
    from timesurf.times import microseconds

    given = ctx.params
    check_choice(given["if_diverged"])
    check_shares(given["validation"], given["held_out"])
    if NETWORK in ctx.meta:
        try:
            from_dict(ctx.meta[NETWORK])
        except SettingError as error:
            raise SettingError(f"{given['config']}, [network]: {error}") from error
    if given["preset"] != "auto":
        named(given["preset"], recordings=1)
    if given["dask"] is None:
        check_engine(given["engine"])
    for tau in taus_of(given["taus"]) or ():
        microseconds(tau, "taus")
    Rule(**{name: given[name] for name in RATES if given[name] is not None})


def settings(ctx: typer.Context, recordings: Any, engine: Any, origin: Any, run: Path) -> tuple[Any, Chosen]:
    """The preset for these recordings, cut from `origin`, with what options change; and what the data chose.

    A run that is resumed has been tuned already.
    """
    from timesurf.presets import from_dict, named
    from timesurf.rule import RATES

    given, chosen = ctx.params, Chosen()
    taus, units = taus_of(given["taus"]), given["units"]
    tunes = given["tune"] is not None or given["tune_trials"] is not None
    if tunes and (given["preset"] != "auto" or NETWORK in ctx.meta):
        raise SettingError("--tune starts from what the data choose: leave out --preset, and [network] in the config.")
    if given["preset"] == "auto" or given["preset"].endswith(".json") or NETWORK in ctx.meta:
        if NETWORK in ctx.meta:
            preset = from_dict(ctx.meta[NETWORK])
        elif given["preset"] != "auto":
            preset = named(given["preset"], len(recordings))
        else:
            preset, chosen = _by_data(recordings, engine, given, origin, run)
        layers = preset.layers
        if taus is not None:
            layers = tuple(replace(layer, tau=tau, feedback_tau=None) for layer, tau in zip(layers, taus, strict=False))
        if units is not None and len(layers) > 1:
            layers = (replace(layers[0], units=units), *layers[1:])
        preset = _suited(replace(preset, layers=layers), recordings)
    else:
        preset = named(given["preset"], len(recordings), units=units or 32, taus=taus)
    rates = {name: given[name] for name in RATES if given[name] is not None}
    others = {name: given[name] for name in ("passes", "batch_size", "keep") if given[name] is not None}
    preset = replace(preset, rule=replace(preset.rule, **rates), **others)
    trains = bool(rates or others) or (chosen.law is not None and preset.start != chosen.law.fitting["start"])
    chosen = chosen._replace(given=_instead(preset, recordings, trains, given))
    for line in chosen.why:
        console.print(f"  {line}", highlight=False)
    return preset, chosen


def _suited(preset: Any, recordings: Any) -> Any:
    """The preset, with passes where its layers leave the last one too few entries for ridge regression."""
    from timesurf.layers import stack
    from timesurf.learning import ridge
    from timesurf.learning.law import usual_passes

    stages = stack(preset.layers, recordings.field, recordings.polarities, len(recordings.classes))
    if preset.start != "ridge" or ridge.suits(stages[-1]):
        return preset
    known = recordings[recordings.labelled]
    return replace(preset, start="quick", passes=usual_passes(len(known), int(known.counts.sum())))


def _instead(preset: Any, recordings: Any, trains: bool, given: dict[str, Any]) -> tuple[str, ...]:
    """What options say in place of the data, one line per choice: how it trains, and what else was given."""
    from timesurf.learning.reasons import training
    from timesurf.rule import RATES

    lines = []
    if trains:
        alpha = preset.rule.per_layer(len(preset.layers))[-1, 0]
        labelled = int(recordings.labelled.sum())
        lines.append(training(alpha, preset.passes, labelled, preset.batch_size, preset.start, preset.bent))
        unused = [f"--{name.replace('_', '-')}" for name in (*RATES, "batch_size") if given[name] is not None]
        if unused and not preset.passes:
            lines.append(f"without effect, since there are no passes: {', '.join(unused)}")
    network = [f"--{name} {given[name]}" for name in ("units", "taus") if given[name] is not None]
    return (*lines, *([f"given instead: {', '.join(network)}"] if network else []))


def _by_data(recordings: Any, engine: Any, given: dict[str, Any], origin: Any, run: Path) -> tuple[Any, Chosen]:
    """Settings from the recordings to learn from, tuned if that is wanted."""
    from timesurf import tuning
    from timesurf.learning.knobs import LAW
    from timesurf.presets import for_data

    minutes, trials, tuned = given["tune"], given["tune_trials"], None
    tunes, asked = minutes is not None or trials is not None, [minutes, trials, given["seed"], recordings.fingerprint()]
    if tunes and given["resume"]:
        tuned = _found_before(run, asked)
    if tunes and tuned is None:
        with console.status("Tuning: what the data choose ...") as status:

            def report(trial: tuning.Trial) -> None:
                what = ", ".join(f"{name} x {value:g}" for name, value in trial.knobs.changed.items()) or "as chosen"
                mark = "  best so far" if trial.best else "  not clearly better" if trial.gain > 0 else ""
                change = f" ({100 * trial.gain:+.1f})" if trial.number else ""
                of = f"{trial.recording_accuracy:.1%}{change} of {trial.recordings:,}"
                line = f"  trial {trial.number}: {of}  {what}  ({trial.seconds:.0f} s){mark}"
                console.print(line, highlight=False)
                status.update(f"Tuning: trial {trial.number + 1} ...")

            tuned = tuning.tune(
                recordings, minutes=minutes, trials=trials, engine=engine, seed=given["seed"], origin=origin,
                report=report,
            )  # fmt: skip
    with console.status("Choosing settings from the data: first centroids by k-means, then a probe of each choice ..."):
        knobs = LAW if tuned is None else tuned.knobs
        preset, law = for_data(recordings, engine=engine, seed=given["seed"], knobs=knobs, origin=origin)
    return preset, Chosen(law, tuned, asked=asked)


def _found_before(run: Path, asked: list[Any]) -> Any:
    """What tuning found before the run was interrupted, if the same was asked of it."""
    from timesurf.tuning import Tuned

    try:
        about = json.loads((run / _TUNED).read_text("utf-8"))
        return Tuned.from_dict(about["found"]) if about["asked"] == asked else None
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):  # none, or damaged: tune again
        return None
