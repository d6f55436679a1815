"""Docstrings as they stand in the code, made ready for numpydoc.

In the code a docstring is plain text that reads well in an editor: prose, `names` in single backticks, settings as
lines `name : text`, tables between bars, indented equations, examples. Here that becomes numpydoc's sections. The
fields of a dataclass are explained by the comment behind each; those become its parameters.
"""

import inspect
import re
from dataclasses import is_dataclass

from sphinx.util.inspect import TypeAliasForwardRef

_ITEM = re.compile(r"([*\w]+(?:, [*\w]+)*) : (.*)")
_FIELD = re.compile(r"    (\w+): .*?  # (?!noqa|type:|fmt:)(.*)")
_HEADS = ("Parameters", "Attributes", "Examples", "Returns", "Raises", "Yields", "Notes", "See Also", "References")


def inline(text):
    """A line of prose with everything escaped that reStructuredText would read as markup."""
    parts = re.split(r"(``.+?``|`[^`]+`)", text)
    for i, part in enumerate(parts):
        if i % 2 == 0:
            part = re.sub(r"([\\*|])", r"\\\1", part)
            parts[i] = re.sub(r"(?<=\w)_(?!\w)", r"\\_", part)
        else:
            code = part.strip("`")
            part = f"`{code}`" if re.fullmatch(r"[A-Za-z][\w.]*[A-Za-z0-9]", code) else f"``{code}``"
            parts[i] = part + ("\\ " if parts[i + 1][:1].isalnum() else "")
    return "".join(parts)


def blocks(lines):
    """Runs of lines without an empty one among them, by kind; a literal block may have empty lines inside."""
    runs, run = [], []
    for line in [*lines, ""]:
        if line.strip():
            run.append(line.rstrip())
        elif run:
            runs.append(run)
            run = []
    found = []
    for run in runs:
        at = next((i for i in range(len(run)) if _all_items(run[i:])), None)
        if len(run) > 1 and run[0] in _HEADS and set(run[1]) == {"-"}:
            found.append(("section", run))
        elif run[0].startswith(">>>"):
            found.append(("example", run))
        elif all(line.startswith("|") for line in run) and len(run) > 2:
            found.append(("table", run))
        elif all(line.startswith("    ") for line in run):
            if found and found[-1][0] == "literal":
                found[-1] = ("literal", [*found[-1][1], "", *run])
            else:
                found.append(("literal", run))
        elif at is not None:
            if at:
                found.append(("prose", run[:at]))
            found.append(("items", run[at:]))
        else:
            found.append(("prose", run))
    return found


def _all_items(run):
    return bool(_ITEM.match(run[0])) and all(_ITEM.match(line) or line.startswith(" ") for line in run)


def items(run):
    """Pairs of name and text."""
    pairs = []
    for line in run:
        if match := _ITEM.match(line):
            pairs.append((match[1], match[2]))
        elif pairs:
            pairs[-1] = (pairs[-1][0], f"{pairs[-1][1]} {line.strip()}")
        else:
            pairs.append((line.strip(), ""))
    return pairs


def table(run):
    """A table between bars, as a list-table."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in run]
    rows = [row for row in rows if not all(set(cell) <= set("-: ") and cell for cell in row)]
    out = [".. list-table::", "   :header-rows: 1", ""]
    for row in rows:
        out += [f"   {'* -' if i == 0 else '  -'} {inline(cell)}" for i, cell in enumerate(row)]
    return [*out, ""]


def prose(run):
    """A paragraph or a list."""
    if any(line.startswith(" ") for line in run) and not re.match(r"(-|\d+\.) ", run[0]):
        run = [line.strip() for line in run]
    return [*map(inline, run), ""]


def definitions(pairs):
    """Names and texts, one a bullet."""
    return [*(f"- ``{name}``: {inline(text)}" for name, text in pairs), ""]


def section(name, pairs):
    """One of numpydoc's sections."""
    out = [name, "-" * len(name)]
    for names, text in pairs:
        out += [names, f"    {inline(text)}" if text else "    ..", ""]
    return out


def fields(cls):
    """Fields of a dataclass and the comment behind each."""
    found = {}
    for base in reversed(cls.__mro__):
        if not is_dataclass(base):
            continue
        try:
            source = inspect.getsource(base)
        except (OSError, TypeError):
            continue
        for line in source.splitlines():
            if match := _FIELD.match(line):
                found[match[1]] = match[2]
    order = [name for name in inspect.signature(cls).parameters if name in found]
    return [(name, found[name]) for name in order]


def convert(what, obj, lines):
    """The docstring in numpydoc's form."""
    try:
        known = set(inspect.signature(obj).parameters)
    except (TypeError, ValueError):
        known = set()
    head, parameters, attributes, examples = [], [], [], []
    for kind, run in blocks(lines):
        if kind == "prose":
            head += prose(run)
        elif kind == "literal":
            head += [".. code-block:: text", "", *run, ""]
        elif kind == "table":
            head += table(run)
        elif kind == "example":
            examples += [*run, ""]
        elif kind == "section":
            if run[0] == "Parameters":
                parameters += items(run[2:])
            elif run[0] == "Attributes":
                attributes += items(run[2:])
            else:
                head += [f"**{run[0]}**", "", *prose(run[2:])]
        else:
            pairs = items(run)
            mine = [pair for pair in pairs if {n.strip("*") for n in pair[0].split(", ")} & known]
            parameters += mine
            rest = [pair for pair in pairs if pair not in mine]
            head += definitions(rest) if rest else []
    if what == "class" and is_dataclass(obj) and not parameters:
        parameters = fields(obj)
    if what == "module":
        return [*head, *definitions(parameters), *examples]
    out = head
    if parameters:
        out = [*out, *section("Parameters", parameters)]
    if attributes:
        out = [*out, *section("Attributes", attributes)]
    return [*out, "Examples", "--------", *examples] if examples else out


def process(app, what, name, obj, options, lines):
    """Before numpydoc sees it."""
    lines[:] = convert(what, obj, lines)


def setup(app):
    """Sphinx calls this."""
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("autodoc-process-docstring", process, priority=100)
    TypeAliasForwardRef.__repr__ = lambda self: self.name  # a type by its name, as the code writes it
    return {"parallel_read_safe": True, "parallel_write_safe": True}
