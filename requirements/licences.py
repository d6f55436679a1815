"""Licences of what timesurf needs and of what its extras add, as the packages themselves state them.

`make licences`, on Python 3.11, writes them into docs/supply.md; a test compares that page with what is installed.
"""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import metadata, requires
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "supply.md"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
NOT_IN_METADATA = {"faery": "LGPL-3.0-only", "hdf5plugin": "MIT"}  # from their LICENSE files


def needed(requirements: list[str]) -> set[str]:
    """Names of these packages and of all that they need in turn."""
    found: set[str] = set()
    ahead = [Requirement(line) for line in requirements]
    while ahead:
        one = ahead.pop()
        if one.name.lower() in found or (one.marker and not one.marker.evaluate({"extra": ""})):
            continue
        found.add(one.name.lower())
        ahead += [Requirement(line) for line in requires(one.name) or ()]
    return found


def licence(name: str) -> str:
    """What a package states: its expression, else its classifiers, else the first line of its licence."""
    about = metadata(name)
    classifiers = [c.rpartition(" :: ")[2] for c in about.get_all("Classifier") or () if c.startswith("License ::")]
    stated = about.get("License-Expression") or " OR ".join(classifiers) or about.get("License", "").partition("\n")[0]
    return NOT_IN_METADATA.get(name) or stated


def table() -> str:
    """Markdown: each package, why it is there, its licence."""
    extras = PROJECT["optional-dependencies"]
    runtime = needed(PROJECT["dependencies"])
    shown = ("plots", "formats", "hdf5", "ros", "dask", "search", "live", "nir")
    groups = {"always": runtime} | {extra: needed(extras[extra]) - runtime for extra in shown}
    rows = [f"| {name} | {group} | {licence(name)} |" for group, names in groups.items() for name in sorted(names)]
    return "\n".join(["| package | installed | licence |", "|---|---|---|", *rows])


if __name__ == "__main__":
    PAGE.write_text(
        re.sub(r"\| package \| installed.*?(?=\n\n)", lambda _: table(), PAGE.read_text("utf-8"), flags=re.DOTALL),
        "utf-8",
    )
