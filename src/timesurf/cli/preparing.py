"""The preparation of events as options: the same ones on every command that reads events."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from operator import gt
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from timesurf.cli.app import console, one_of
from timesurf.cli.options import extended
from timesurf.cli.wording import count
from timesurf.errors import SettingError
from timesurf.events import Recordings, axis_name
from timesurf.transforms.preparation import Preparation

if TYPE_CHECKING:
    from timesurf.io.formats import Opened

_PANEL = "Preparation of events (kept in the model, and repeated wherever it is used)"
_SIZE = r"\d+(?:x\d+)*"
_BOX = re.compile(rf"({_SIZE})((?:\+\d+)*)")


def _option(help_text: str, **more: Any) -> Any:
    return Annotated[str | None, typer.Option(help=help_text, rich_help_panel=_PANEL, show_default=False, **more)]


_OPTIONS: dict[str, Any] = {
    "field": _option("Size of the sensor, such as 346x260, where the data does not state it."),
    "crop": _option("Use a box of the sensor: 128x128 in its middle, or 128x128+10+20, from the pixel (10, 20) on."),
    "polarity": _option(
        "merge: take on and off events for one; on, or off: use only these.",
        autocompletion=one_of("merge", "on", "off"),
    ),
    "hot_pixels": _option("Leave out pixels while they fire more often than this per second, such as 200."),
    "denoise": _option("Leave out events that no neighbour supports within this time, such as '5 ms'."),
    "downsample": _option("Pixels that become one, along each side: 4, or 4x2."),
}


def prepares(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of a preparation; its parameter `given` gets them as settings of `Preparation`."""
    return extended(command, _OPTIONS, lambda own, found: command(**own, given=parsed(found)), hidden=("given",))


def parsed(texts: dict[str, str | None]) -> dict[str, Any]:
    """Settings of a `Preparation` from the texts of options; those that are not given are left out.

    Examples
    --------
    >>> parsed({"crop": "28x28+3+3", "downsample": "2", "denoise": None})
    {'crop': (28, 28), 'corner': (3, 3), 'downsample': (2,)}

    """
    found: dict[str, Any] = {}
    for name, text in texts.items():
        if text is None:
            continue
        option, text = f"--{name.replace('_', '-')}", str(text).strip()
        if name in ("field", "downsample"):
            if not re.fullmatch(_SIZE, text):
                raise SettingError(
                    f"{option} {text}: whole numbers are needed, such as {'346x260' if name == 'field' else '4'}."
                )
            found[name] = _whole(text, "x")
        elif name == "crop":
            box = _BOX.fullmatch(text)
            if not box:
                raise SettingError(
                    f"{option} {text}: a box is needed, such as 128x128, or 128x128+10+20 with its corner."
                )
            found[name] = _whole(box[1], "x")
            if box[2]:
                found["corner"] = _whole(box[2][1:], "+")
        elif name == "hot_pixels":
            try:
                found[name] = float(text)
            except ValueError:
                raise SettingError(f"{option} {text}: a number of events per second is needed, such as 200.") from None
        else:
            found[name] = text
    Preparation(**found)  # refuses what is not valid before anything is read
    return found


def as_texts(given: dict[str, Any]) -> dict[str, str]:
    """The texts of options that `parsed` makes these settings from.

    Examples
    --------
    >>> as_texts({"crop": (28, 28), "corner": (3, 3), "polarity": "merge"})
    {'crop': '28x28+3+3', 'polarity': 'merge'}

    """
    texts = {name: _sized(of, "x") if isinstance(of, tuple) else str(of) for name, of in given.items()}
    corner = "".join(f"+{n}" for n in given.get("corner", ()))
    texts.pop("corner", None)
    return texts | ({"crop": texts["crop"] + corner} if corner else {})


def _whole(text: str, between: str) -> tuple[int, ...]:
    return tuple(int(number[:12]) for number in text.split(between))


def for_training(recordings: Recordings, given: dict[str, Any], preset: str) -> tuple[Preparation, Recordings]:
    """What recordings to learn from go through, and what comes out: as given, or as the preset's paper has it."""
    from timesurf.datasets import nmnist

    preparation = Preparation(**given)
    usual = {"nmnist": nmnist.PREPARATION, "digits": nmnist.CROPPED}
    if preset in usual and nmnist.is_whole(recordings) and not preparation.changes:
        preparation = usual[preset]
    if not preparation.changes:
        return Preparation(), preparation(recordings)
    preparation = preparation.on(*_sensor(recordings, preparation))
    prepared = preparation(recordings)
    console.print(f"Preparation: {preparation}; then {_field(prepared)}.", highlight=False)
    return preparation, prepared


def fitted(recordings: Recordings, network: Any, given: dict[str, Any], what: str = "The data") -> Recordings:
    """Recordings as a network takes them: through the preparation that it was trained with, as options change it."""
    from timesurf.datasets import sources

    preparation = changed(network.preparation, given)
    if not given and preparation.changes and sources.is_prepared(recordings, network.field, preparation):
        console.print(f"{what} has the network's field and is assumed to be prepared already.", highlight=False)
        preparation = Preparation()
    elif preparation.changes:
        preparation = preparation.on(*_sensor(recordings, preparation))
        _check_field(preparation, network, what, given)
    found = sources.fitted(recordings, network.field, network.polarities, preparation)
    if (found.field, found.polarities) != (network.field, network.polarities):
        raise SettingError(
            f"{what} has, after preparation ({preparation}), {_field(found)}; the network takes "
            f"{_sized(network.field)} pixels, {count(network.polarities, 'polarity')}. "
            "--crop, --downsample and --polarity fit one to the other."
            f"{_whole_sensor(found.field, network.field)}"
        )
    return found


def _whole_sensor(found: tuple[int, ...], trained: tuple[int, ...]) -> str:
    """What to do where events lie off the sensor that a model was trained for; empty where none do."""
    if len(found) != len(trained) or all(a <= b for a, b in zip(found, trained, strict=True)):
        return ""
    whole = tuple(map(max, zip(found, trained, strict=True)))
    return f" If the model was trained on files that state no size, train it with --field {_sized(whole, 'x')}."


def _check_field(preparation: Preparation, network: Any, what: str, given: dict[str, Any]) -> None:
    """Refuse a preparation that leads from the sensor to another field than the network's, even to a smaller one."""
    sensor = preparation.field or ()
    leads_to, _ = preparation.leads_to(sensor, preparation.polarities or 1)
    if leads_to == network.field:
        return
    if given and not network.preparation.changes:
        way_out = "--crop and --downsample have to lead there: a box of that size, or a multiple of it."
    elif given:
        way_out = "Leave out --crop, --downsample and --field, which the model keeps from its training."
    else:
        trained = network.preparation.field or ()
        way_out = "--crop and --downsample fit one to the other." + _whole_sensor(sensor, trained)
    raise SettingError(
        f"{what} has {_sized(sensor)} pixels, and after preparation ({preparation}) {_sized(leads_to)}; the network "
        f"takes {_sized(network.field)}. {way_out}"
    )


@contextmanager
def sized(network: Any, given: dict[str, Any]) -> Iterator[None]:
    """In this block, files that state no size of their sensor have that of `_trained_on`, if there is one."""
    from timesurf.io.formats import assumed, assuming

    with assuming(replace(assumed(), field=_trained_on(network, given))):
        yield


def _trained_on(network: Any, given: dict[str, Any]) -> tuple[int, ...] | None:
    """The sensor that a model was trained for, where options crop another box of it; None where they say otherwise."""
    known = network.preparation.field or (None if network.preparation.changes else network.field)
    if known is None or "crop" not in given or "field" in given:
        return None
    box = Preparation(crop=given["crop"], corner=given.get("corner", (0,) * len(given["crop"])))
    fits = len(known) == len(given["crop"]) and all(a <= b for a, b in zip(box.sensor(known), known, strict=True))
    return known if fits else None


def opened(source: str, network: Any, given: dict[str, Any]) -> Opened:
    """A file to be read packet by packet, with the field that `fitted` would take it to have, as far as it matters.

    Only where options crop or downsample, and neither they nor the file state a size, is the file read for its size.
    """
    from timesurf.io import formats

    path, asked = Path(source), formats.Asked(field=given.get("field") or network.preparation.field)
    file = formats.opened(path, asked)
    if file.field is None and "field" not in given and {"crop", "downsample"} & given.keys():
        names = [axis_name(d) for d in range(file.places)]
        farthest = np.zeros((len(names), 1), np.int64)
        for packet in file.packets:
            farthest = np.maximum(farthest, [[packet[name].max()] for name in names])
        with sized(network, given):
            field = formats.measured(source, list(farthest))
        file = formats.opened(path, asked)._replace(field=field)
    return file


def for_stream(
    network: Any, given: dict[str, Any], file: Opened | None = None, what: str = "The stream"
) -> Preparation | None:
    """What the packets of a stream go through; None: nothing. What cannot lead to the network's field is refused."""
    if file is not None and file.places != len(network.field):
        raise SettingError(
            f"{what} has events of {count(file.places, 'coordinate')}; the network takes a field of "
            f"{_sized(network.field)}."
        )
    preparation, stated = changed(network.preparation, given), given.get("field") or (file and file.field)
    if not preparation.changes:
        if stated and (len(stated) != len(network.field) or any(map(gt, stated, network.field))):
            raise SettingError(
                f"{what} has {_sized(stated)} pixels; the network takes {_sized(network.field)}. --crop and "
                f"--downsample fit one to the other.{_whole_sensor(stated, network.field)}"
            )
        return None
    if not given and stated == network.field != preparation.field is not None:
        console.print(f"{what} has the network's field and is assumed to be prepared already.", highlight=False)
        return None
    sensor = (
        _part_of(preparation.field, stated)
        if stated
        else _trained_on(network, given) or preparation.sensor(network.field)
    )
    two = preparation.polarity != "both" or network.polarities > 1
    preparation = preparation.on(sensor, preparation.polarities or (2 if two else 1))
    _check_field(preparation, network, what, given)
    return preparation


def changed(preparation: Preparation, given: dict[str, Any]) -> Preparation:
    """A network's preparation with what options change; another box or factor is for another sensor."""
    if "crop" in given or "downsample" in given:
        preparation = replace(preparation, field=None, polarities=None)
    if "crop" in given:
        preparation = replace(preparation, corner=None)
    return replace(preparation, **given)


def _sensor(recordings: Recordings, preparation: Preparation) -> tuple[tuple[int, ...], int]:
    """Size and polarities of the sensor: as given, else as the recordings have them."""
    return _part_of(preparation.field, recordings.field), max(preparation.polarities or 0, recordings.polarities)


def _part_of(sensor: tuple[int, ...] | None, found: tuple[int, ...]) -> tuple[int, ...]:
    """The size of a known sensor that events may lie on, else the size that they have themselves."""
    holds = sensor is not None and len(sensor) == len(found) and not any(map(gt, found, sensor))
    return sensor if sensor is not None and holds else found


def _field(recordings: Recordings) -> str:
    events = int(recordings.counts.sum())
    return f"{_sized(recordings.field)} pixels, {count(recordings.polarities, 'polarity')}, {count(events, 'event')}"


def _sized(field: tuple[int, ...], between: str = " x ") -> str:
    return between.join(map(str, field))
