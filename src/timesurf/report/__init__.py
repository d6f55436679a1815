"""A training run on one page: what it learnt, how well it decides, and where it goes wrong. A search on another.

`write(run, path)` and `write_search(result, path)` make one HTML file that needs nothing else: style, script and
pictures are inside, and the page forbids itself any request. It reads well without its script, in the dark, on a phone
and on paper. The same run gives the same page.

| file          | what it does                                                   |
|---------------|----------------------------------------------------------------|
| `findings.py` | what there is to tell: figures, from the run                   |
| `sections.py` | how it is told: a section each, with how to read its pictures  |
| `units.py`, `results/table.py` | the longer of them                                 |
| `searching.py` | the sections of a search                                      |
| `pictures.py` | curves, bars, points and images as SVG and PNG                 |
| `markup.py`   | HTML in which every text is escaped unless it is HTML already  |
"""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from timesurf.report import searching
from timesurf.report.findings import gather
from timesurf.report.markup import Html, tag
from timesurf.report.sections import SECTIONS, heading, title
from timesurf.results.run import Run
from timesurf.storage.atomic import replacing

__all__ = ["page", "search_page", "write", "write_search"]


def write(run: Run, path: str | Path) -> Path:
    """Write the report of a run as one HTML file, whole or not at all; gives back its path.

    Figures are of all held-out recordings; pictures are of a bounded number of them, and say of how many.
    """
    return _written(page(run), path)


def write_search(result: dict[str, Any], path: str | Path) -> Path:
    """Write what `timesurf.search.run` gave as one HTML file, whole or not at all; gives back its path."""
    return _written(search_page(result), path)


def page(run: Run) -> str:
    """The report of a run as HTML."""
    found = gather(run)
    return _filled(title(found), heading(found), [(name, words, tell(found)) for name, words, tell in SECTIONS])


def search_page(result: dict[str, Any]) -> str:
    """What a search found as HTML."""
    told = [(name, words, tell(result)) for name, words, tell in searching.SECTIONS]
    return _filled("Search", searching.heading(result), told)


def _filled(called: str, head: Html, told: list[tuple[str, str, Html]]) -> str:
    """The page of these sections, less those that have nothing to say."""
    told = [(name, words, inside) for name, words, inside in told if inside]
    script = _resource("report.js")
    return Template(_resource("report.html")).substitute(
        title=tag("title", called),
        heading=head,
        contents=Html("".join(tag("a", words, href=f"#{name}") for name, words, _ in told)),
        sections=Html("\n".join(tag("section", tag("h2", words), inside, id=name) for name, words, inside in told)),
        style=_resource("report.css"),
        script=script,
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )


def _written(text: str, path: str | Path) -> Path:
    path = Path(path)
    with replacing(path) as file:
        file.write(text.encode("utf-8", errors="replace"))
    return path


def _resource(name: str) -> str:
    return (files("timesurf.report") / name).read_text(encoding="utf-8")
