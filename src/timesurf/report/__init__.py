"""A training run on one page: what it learnt, how well it decides, and where it goes wrong.

`write(run, path)` makes one HTML file that needs nothing else: style, script and pictures are inside, and the page
forbids itself any request. It reads well without its script, in the dark, on a phone and on paper. The same run gives
the same page.

| file          | what it does                                                   |
|---------------|----------------------------------------------------------------|
| `findings.py` | what there is to tell: figures, from the run                   |
| `sections.py` | how it is told: a section each, with how to read its pictures  |
| `units.py`, `decisions.py` | the longer of them                                 |
| `pictures.py` | curves, bars, points and images as SVG and PNG                 |
| `markup.py`   | HTML in which every text is escaped unless it is HTML already  |
"""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from pathlib import Path
from string import Template

from timesurf.files import replacing
from timesurf.report.findings import gather
from timesurf.report.markup import Html, tag
from timesurf.report.sections import SECTIONS, heading, title
from timesurf.runs import Run

__all__ = ["page", "write"]


def write(run: Run, path: str | Path) -> Path:
    """Write the report of a run as one HTML file, whole or not at all; gives back its path.

    Figures are of all held-out recordings; pictures are of a bounded number of them, and say of how many.
    """
    path = Path(path)
    text = page(run).encode("utf-8", errors="replace")
    with replacing(path) as file:
        file.write(text)
    return path


def page(run: Run) -> str:
    """The report of a run as HTML."""
    found = gather(run)
    told = [(name, words, section(found)) for name, words, section in SECTIONS]
    told = [(name, words, inside) for name, words, inside in told if inside]
    script = _resource("report.js")
    return Template(_resource("report.html")).substitute(
        title=tag("title", title(found)),
        heading=heading(found),
        contents=Html("".join(tag("a", words, href=f"#{name}") for name, words, _ in told)),
        sections=Html("\n".join(tag("section", tag("h2", words), inside, id=name) for name, words, inside in told)),
        style=_resource("report.css"),
        script=script,
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )


def _resource(name: str) -> str:
    return (files("timesurf.report") / name).read_text(encoding="utf-8")
