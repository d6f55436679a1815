"""Docstrings are in numpydoc's form, so that the documentation renders them as they are meant."""

import importlib
import inspect
import pkgutil
import re

import pytest

import timesurf

numpydoc = pytest.importorskip("numpydoc.validate", reason="numpydoc is not installed")

CHECKS = {
    "GL06": "an unknown section",
    "GL07": "sections in another order than numpydoc's",
    "PR02": "a parameter that the signature lacks",
    "PR03": "parameters in another order than in the signature",
    "PR10": "`name: type` instead of `name : type`",
}
SECTION = re.compile(r"^ *[A-Z][A-Za-z ]+\n *-{3,}$", re.MULTILINE)
MODULES = sorted(
    info.name
    for info in pkgutil.walk_packages(timesurf.__path__, "timesurf.")
    if not any(part.startswith("_") for part in info.name.split(".")[1:])
)


def documented(module):
    """Names and docstrings of a module, of its public classes and functions, and of their methods."""
    yield module.__name__, inspect.getdoc(module)
    for name, thing in vars(module).items():
        if name.startswith("_") or getattr(thing, "__module__", None) != module.__name__:
            continue
        if inspect.isclass(thing) or inspect.isfunction(thing):
            yield f"{module.__name__}.{name}", thing.__doc__ and inspect.getdoc(thing)
        if inspect.isclass(thing):
            for method, member in vars(thing).items():
                if not method.startswith("_") and inspect.isroutine(member) and member.__doc__:
                    yield f"{module.__name__}.{name}.{method}", inspect.getdoc(member)


def faults(name, text):
    """What a reader of the documentation would see garbled."""
    prose = SECTION.split(text)[0]
    if re.search(r"^\|-", text, re.MULTILINE):
        yield "a Markdown table: use one of reStructuredText"
    for before, block in re.findall(r"(?:^|\n)(\S[^\n]*)\n\n((?:    [^\n]*\n?)+)", prose):
        if not before.endswith("::") and not re.match(r"(- |\d+\. |\.\. |[=+|])", before):
            yield f"an indented block without :: before it ({block.strip().splitlines()[0]})"
    if SECTION.search(text):
        yield from (
            f"{code}, {CHECKS[code]}: {why}" for code, why in numpydoc.validate(name)["errors"] if code in CHECKS
        )


@pytest.mark.parametrize("name", MODULES)
def test_docstrings_render_as_they_are_meant(name):
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        pytest.skip(str(error))
    found = [f"{thing}: {fault}" for thing, text in documented(module) if text for fault in faults(thing, text)]
    assert not found, "\n".join(found)
