"""Settings as TOML, which the standard library reads but does not write."""

from __future__ import annotations

import json
import math
from typing import Any


def network(settings: dict[str, Any]) -> str:
    """The table [network] of a file for `timesurf train --config`; what is None is left out.

    Parameters
    ----------
    settings : dict
        As `timesurf.presets.Preset.to_dict` gives them: numbers, text, lists and tables of those.

    Returns
    -------
    str
        TOML.

    Examples
    --------
    >>> print(network({"passes": 6, "layers": [{"kind": "Full", "tau": 1.0, "units": None}], "margin": math.inf}))
    [network]
    passes = 6
    layers = [
        {kind = "Full", tau = 1.0},
    ]
    margin = inf
    <BLANKLINE>
    """
    lines = ["[network]"]
    for name, value in settings.items():
        if isinstance(value, list | tuple) and value and all(isinstance(each, dict) for each in value):
            lines += [f"{name} = [", *(f"    {_written(each)}," for each in value), "]"]
        elif value is not None:
            lines.append(f"{name} = {_written(value)}")
    return "\n".join(lines) + "\n"


def _written(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name} = {_written(each)}" for name, each in value.items() if each is not None) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_written, value)) + "]"
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else str(value)
    return json.dumps(value)  # text, whole numbers, true and false are written alike
