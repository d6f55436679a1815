"""A trained network as C for a microcontroller: one header, one source, no allocation, no libm.

`prepared` lays a network out, `write` writes the two files, and `check.compare` compiles them here and holds them to
the network. The C itself lies in `templates/`; the modules fill it in: `plan` (where an event lies), `weights`
and `quantise` (constants), `in_float`, `in_fixed` and `learning` (layers), `model` and `source` (the whole).
"""

from __future__ import annotations

from pathlib import Path

from timesurf.errors import SettingError
from timesurf.events import Recordings
from timesurf.export import source
from timesurf.export.calibrate import usages
from timesurf.export.ctext import checked_name
from timesurf.export.in_fixed import Fixed
from timesurf.export.in_float import Float32
from timesurf.export.learning import Learning
from timesurf.export.model import Model, Numbers
from timesurf.export.plan import plans
from timesurf.network import Network
from timesurf.storage.atomic import replacing

NUMBERS: dict[str, Numbers] = {"float32": Float32(), "int16": Fixed(16), "int8": Fixed(8)}


def prepared(
    network: Network,
    name: str,
    *,
    numbers: str = "float32",
    learn: bool = False,
    calibration: Recordings | None = None,
) -> Model:
    """A network laid out as it will be written.

    Parameters
    ----------
    network : Network
        With parameters.
    name : str
        Prefix of all public names in C, and name of the files.
    numbers : {"float32", "int16", "int8", "float64"}
        What the C computes with; float64 only if it learns.
    learn : bool
        Whether the C can also learn online.
    calibration : Recordings, optional
        How often each entry fires in them weighs its error when the scales of int16 and int8 are chosen.

    Returns
    -------
    Model
        For `write`.

    Raises
    ------
    SettingError
        If the C cannot do what the network needs; the message says what.
    """
    if not learn and numbers not in NUMBERS:
        more = " (float64 is for learning)" if numbers == "float64" else ""
        raise SettingError(f"numbers = {numbers!r} must be one of {', '.join(NUMBERS)}{more}.")
    learning = Learning.of(network, numbers) if learn else None
    kind = learning or NUMBERS[numbers]
    layers = plans(network.stages, network.parameters, learn=learn)
    usage = [None] * len(layers) if calibration is None else usages(network, layers, calibration)
    weights = [kind.weights(*about) for about in zip(layers, network.parameters, usage, strict=True)]
    preparation = str(network.preparation) if network.preparation.changes else ""
    return Model(
        checked_name(name), tuple(map(str, network.classes)), layers, weights, kind, learning, preparation,
        network.rule.temperature if network.decides == "evidence" else 0.0,
    )  # fmt: skip


def write(model: Model, folder: str | Path) -> tuple[Path, Path]:
    """Write NAME.h and NAME.c into a folder, which is made if it is missing; the same model gives the same bytes."""
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise type(error)(f"Cannot make the folder {folder}: {error.strerror}.") from error
    header, code = folder / f"{model.name}.h", folder / f"{model.name}.c"
    texts = source.texts(model)
    for path, text in ((header, texts.header), (code, texts.source)):
        with replacing(path) as file:
            file.write(text.encode("ascii"))
    return header, code
