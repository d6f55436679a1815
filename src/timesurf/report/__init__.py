"""Reports as single HTML pages: of a training run (what it learned, its accuracy, its mistakes) and of a search.

`write(run, path)` and `write_search(result, path)` write one HTML file that needs nothing else: style, script and
pictures are inside, and the page forbids itself any network request. It can be read without its script, with dark
colours, on a phone and on paper. The same run gives the same page.

==============  ========================================================================
file            what it does
==============  ========================================================================
`findings.py`   figures of the run
`sections.py`   sections of the page, each with an explanation of its pictures
`decisions.py`  sections on decisions: kept events, mistakes, how soon, worst recordings
`sureness.py`   sections on probabilities, and on accuracy over events kept
`units.py`      sections on units: centroids, what they fire for, thresholds
`searching.py`  sections of the report on a search
`pictures.py`   curves, bars, points and images as SVG and PNG
`markup.py`     HTML in which all text is escaped unless it is HTML already
==============  ========================================================================
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
    """Write the report of a run as one HTML file, completely or not at all.

    Figures are of all held-out recordings; pictures are of a limited number of them, which they state.

    Parameters
    ----------
    run : Run
        A training run, as `results.run.read` gives it.
    path : str or Path
        The file to write.

    Returns
    -------
    Path
        That file.

    """
    return _written(page(run), path)


def write_search(result: dict[str, Any], path: str | Path) -> Path:
    """Write the report of a search as one HTML file, completely or not at all.

    Parameters
    ----------
    result : dict
        What `timesurf.search.run` returns.
    path
        As for `write`.

    """
    return _written(search_page(result), path)


def page(run: Run) -> str:
    """The report of a run as HTML."""
    found = gather(run)
    return _filled(title(found), heading(found), [(name, words, section(found)) for name, words, section in SECTIONS])


def search_page(result: dict[str, Any]) -> str:
    """The report of a search as HTML."""
    sections = [(name, words, section(result)) for name, words, section in searching.SECTIONS]
    return _filled("Search", searching.heading(result), sections)


def _filled(called: str, head: Html, sections: list[tuple[str, str, Html]]) -> str:
    """The page of these sections, without empty ones."""
    sections = [(name, words, inside) for name, words, inside in sections if inside]
    script = _resource("report.js")
    return Template(_resource("report.html")).substitute(
        title=tag("title", called),
        heading=head,
        contents=Html("".join(tag("a", words, href=f"#{name}") for name, words, _ in sections)),
        sections=Html("\n".join(tag("section", tag("h2", words), inside, id=name) for name, words, inside in sections)),
        style=_resource("report.css"),
        script=script,
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )


def _written(text: str, path: str | Path) -> Path:
    """Write a page and give back its path."""
    path = Path(path)
    with replacing(path) as file:
        file.write(text.encode("utf-8", errors="replace"))
    return path


def _resource(name: str) -> str:
    """The text of a file of this package."""
    return (files("timesurf.report") / name).read_text(encoding="utf-8")
