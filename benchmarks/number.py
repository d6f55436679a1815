"""Figures of saved results, which know how they are printed."""

import json
from functools import cache
from pathlib import Path

RESULTS = Path(__file__).parent / "results"
MARK = "\0"  # around each figure of a fragment
UNITS = {"%": (100, " %"), "p": (100, ""), "M": (1e-6, " M"), "k": (1e-3, ""), "m": (1e3, "")}


class Number(float):
    """A figure. `{x:.1%}` is 95.6 %, `{x:.1p}` 95.6, `{x:.1M}` 6.6 M, `{x:.1k}` thousands, `{x:m}` thousandths."""

    def __format__(self, spec):
        scale, unit = UNITS.get(spec[-1:], (1, ""))
        spec = spec.rstrip("".join(UNITS))
        sign, digits = spec[:1] if spec.startswith("+") else "", spec.lstrip("+") or ".0"
        return f"{MARK}{scale * float(self):{sign},{digits}f}{MARK}{unit}"


class Node(dict):
    """Part of a result, by name: `read("table1").sup3r.kept`."""

    __getattr__ = dict.__getitem__


@cache
def read(name):
    """A saved result, all of whose numbers are figures."""
    text = (RESULTS / f"{name}.json").read_text("utf-8")
    return json.loads(text, object_hook=Node, parse_float=Number, parse_int=Number)


def mean(values):
    """The mean, a figure again."""
    return Number(sum(values) / len(values))
