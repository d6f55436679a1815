"""Write the figures of README and docs from benchmarks/results, wherever they differ.

Run: python -m benchmarks.figures    after a result was saved again (`tests/test_quoted.py` fails where a page differs)

Tables between marks come from the scripts `*_tables.py`; all other figures from `quoted/`, which has for each page
the words or the row of a table around them. Pictures are drawn by senses_tables.py.
"""

import re
import sys

from benchmarks.number import MARK

from benchmarks import float32_tables, microcontroller_tables, quoted, senses_tables, speed_tables

ROOT = senses_tables.ROOT
NUMBER = r"(?<![\d.,])[-+]?\d[\d,]*(?:\.\d+)?"


def places(page, fragment):
    """Where a page has the words of a fragment, whatever the figures are.

    Lines of text may be broken elsewhere. What begins and ends as a row of a table does is the whole row, or rows.
    """
    rows = fragment[0] == fragment[-1] == "|"
    space = " +" if rows else r"\s+"
    pieces = fragment.split(MARK)  # words and figures, in turn
    words = [re.escape(piece).replace(r"\ ", space).replace("\\\n", "\n") for piece in pieces]
    pattern = "".join(f"({NUMBER})" if n % 2 else f"({text})" for n, text in enumerate(words))
    pattern = f"^{pattern}$" if rows else rf"{pattern}(?!\d|[.,]\d)"
    return list(re.finditer(pattern, page, re.MULTILINE)), pieces


def with_figures(page, fragments):
    """The page with the figures of these fragments, and the fragments whose words it lacks."""
    missing = []
    for fragment in fragments:
        found, pieces = places(page, fragment)
        if not found:
            missing.append(fragment.replace(MARK, ""))
        for place in reversed(found):
            words = (pieces[n] if n % 2 else text for n, text in enumerate(place.groups()))
            page = page[: place.start()] + "".join(words) + page[place.end() :]
    return page, missing


def tables():
    """Pages and their parts between marks, of all scripts that make such tables."""
    for module in (senses_tables, speed_tables):
        for name, (path, parts) in module.PAGES.items():
            yield path, parts(senses_tables.read(name))
    for module in (float32_tables, microcontroller_tables):
        yield module.PAGE, module.parts()


def pages():
    """Every page that has figures as it should be, and the fragments whose words it lacks."""
    made = {}
    for path, parts in tables():
        text = made[path] if path in made else path.read_text("utf-8")
        made[path] = senses_tables.filled(text, parts)
    found = {path: (text, []) for path, text in made.items()}
    for name, fragments in quoted.PAGES.items():
        path = ROOT / name
        found[path] = with_figures(made.get(path) or path.read_text("utf-8"), fragments())
    return found


def main():
    """Rewrite the pages; the exit status is 1 if words were not found."""
    lacking = 0
    for path, (text, missing) in pages().items():
        if text != path.read_text("utf-8"):
            print(f"{path.relative_to(ROOT)} has new figures")
            path.write_text(text, "utf-8")
        for fragment in missing:
            print(f"{path.relative_to(ROOT)} lacks: {fragment}")
        lacking += len(missing)
    return int(lacking > 0)


if __name__ == "__main__":
    sys.exit(main())
