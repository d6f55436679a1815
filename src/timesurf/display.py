"""How a network describes itself: as text, and as a table in a notebook."""

from __future__ import annotations

from html import escape

from timesurf.modelfile import Described
from timesurf.times import readable_all


def text(network: Described) -> str:
    """Field and classes, then one line per layer."""
    lines = [f"Network on {_field(network)}, {len(network.classes)} class{'es' * (len(network.classes) > 1)}"]
    return "\n".join([*lines, *(f"  {k}  {stage}" for k, stage in enumerate(network.stages, start=1))])


def html(network: Described) -> str:
    """The same as a table, with the names of the classes."""
    rows = "".join(
        f"<tr><td>{k}</td><td>{type(stage.layer).__name__}</td><td>{stage.units}</td>"
        f"<td>{' x '.join(map(str, stage.surface_shape))}</td><td>{readable_all(stage.taus)}</td></tr>"
        for k, stage in enumerate(network.stages, start=1)
    )
    head = "".join(f"<th>{name}</th>" for name in ("", "layer", "units", "over", "tau"))
    state = f"{len(network.history)} passes" if network.started else "not trained yet"
    classes = escape(", ".join(map(str, network.classes)))
    caption = f"Network on {_field(network)}, {state}; classes: {classes}"
    return f"<table><caption>{caption}</caption><tr>{head}</tr>{rows}</table>"


def unit_names(network: Described, k: int) -> list[str]:
    """Names of the units of layer k (0: the first): numbers from 1; in the last layer the classes they vote for."""
    stage = network.stages[k]
    if k < len(network.stages) - 1:
        return [str(n) for n in range(1, stage.units + 1)]
    each = range(1, stage.units_per_class + 1)
    return [str(name) if len(each) == 1 else f"{name} ({n})" for name in network.classes.tolist() for n in each]


def _field(network: Described) -> str:
    return f"a field of {' x '.join(map(str, network.stages[0].field))}"
