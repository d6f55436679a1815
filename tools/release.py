"""Build a release, check it, tag it. Nothing leaves this machine.

    python tools/release.py build    the wheel and the source archive in dist/, checked as a package index would
    python tools/release.py check    whether the tree is ready for a release
    python tools/release.py tag      both, then the tag vVERSION

`make build` runs the first; `make release` the second, then tests and documentation, then the third. CONTRIBUTING.md
has the whole checklist.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

from packaging.metadata import Metadata

ROOT = Path(__file__).parents[1]


class NotReadyError(Exception):
    """Why there is no release yet, and what to do."""


def version(root: Path = ROOT) -> str:
    """The version, from the one place that states it."""
    text = (root / "src" / "timesurf" / "__init__.py").read_text("utf-8")
    found = re.search(r'^__version__ = "(.+)"$', text, re.MULTILINE)
    if found is None:
        raise NotReadyError("src/timesurf/__init__.py states no __version__.")
    return found[1]


def git(*words: str, root: Path = ROOT) -> str:
    """What git prints."""
    done = subprocess.run(["git", *words], cwd=root, check=False, capture_output=True, text=True)
    if done.returncode:
        raise NotReadyError(f"`git {words[0]}` failed: {done.stderr.strip()}")
    return done.stdout.strip()


def check_tree(root: Path = ROOT) -> None:
    """The tree is what was committed, its files agree on a version that has no tag yet, and git knows who tags."""
    number = version(root)
    git("var", "GIT_COMMITTER_IDENT", root=root)
    if changed := git("status", "--porcelain", root=root):
        raise NotReadyError(f"The working tree has changes that are not committed:\n{changed}")
    if git("tag", "--list", f"v{number}", root=root):
        raise NotReadyError(f"There is a tag v{number} already: raise __version__ in src/timesurf/__init__.py.")
    changelog = (root / "CHANGELOG.md").read_text("utf-8")
    if not re.search(rf"^## {re.escape(number)} \(\d{{4}}-\d\d-\d\d\)$", changelog, re.MULTILINE):
        raise NotReadyError(f"CHANGELOG.md has no heading `## {number} (YYYY-MM-DD)` with the day of the release.")
    if f"\nversion: {number}\n" not in (root / "CITATION.cff").read_text("utf-8"):
        raise NotReadyError(f"CITATION.cff does not say `version: {number}`.")


def build(root: Path = ROOT) -> tuple[Path, Path]:
    """The wheel and the source archive, dated by the commit so that the same commit gives the same bytes."""
    number = version(root)
    dated = os.environ | {"SOURCE_DATE_EPOCH": git("log", "-1", "--format=%ct", root=root)}
    subprocess.run([sys.executable, "-m", "hatchling", "build", "--clean"], cwd=root, check=True, env=dated)
    dist = root / "dist"
    return dist / f"timesurf-{number}-py3-none-any.whl", dist / f"timesurf-{number}.tar.gz"


def check_built(wheel: Path, source: Path, number: str) -> None:
    """The metadata is valid, nothing foreign is inside, and what is inside runs without the source tree."""
    info = f"timesurf-{number}.dist-info/"
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        about = Metadata.from_email(archive.read(f"{info}METADATA"))  # raises where an index would refuse it
        if foreign := [name for name in names if not name.startswith(("timesurf/", info))]:
            raise NotReadyError(f"{wheel.name} holds what is not of the package: {', '.join(foreign[:5])}.")
        for needed in ("timesurf/py.typed", f"{info}licenses/LICENSE", "timesurf/live/page/index.html"):
            if needed not in names:
                raise NotReadyError(f"{wheel.name} lacks {needed}.")
        with tempfile.TemporaryDirectory() as place:
            archive.extractall(place)
            said = subprocess.run(
                [sys.executable, "-m", "timesurf", "--version"], cwd=place, check=True, capture_output=True, text=True,
                env=os.environ | {"PYTHONPATH": place},
            ).stdout  # fmt: skip
    if said.split() != ["timesurf", number]:
        raise NotReadyError(f"{wheel.name} says that it is {said.strip()!r}, not {number}.")
    if about.description_content_type != "text/markdown" or not about.description:
        raise NotReadyError(f"{wheel.name} has no description in Markdown.")
    with tarfile.open(source) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    if missing := {"pyproject.toml", "LICENSE", "README.md", "CHANGELOG.md"} - inside:
        raise NotReadyError(f"{source.name} lacks {', '.join(sorted(missing))}.")


def main(words: list[str]) -> int:
    """Do what the first word says; 1 and a sentence where something is not ready."""
    if words not in (["build"], ["check"], ["tag"]):
        print(__doc__)
        return 2
    try:
        if words != ["build"]:
            check_tree()
        if words != ["check"]:
            wheel, source = build()
            check_built(wheel, source, number := version())
            print(f"Built and checked: {wheel.relative_to(ROOT)}, {source.relative_to(ROOT)}")
        if words == ["tag"]:
            git("tag", "--annotate", f"v{number}", "--message", f"timesurf {number}")
            print(f"Tagged v{number}. Not pushed: CONTRIBUTING.md says what follows.")
    except (NotReadyError, subprocess.CalledProcessError) as error:
        print(f"No release: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
