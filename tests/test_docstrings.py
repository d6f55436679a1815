"""Docstrings are in numpydoc's form, so that the reference, and `help`, show them as they are meant."""

import importlib.util
import inspect
import pkgutil
import re
from functools import reduce
from pathlib import Path
from typing import get_args, get_type_hints

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


def load_reference():
    """docs/_ext/reference.py, which says what is public."""
    about = importlib.util.spec_from_file_location(
        "reference", Path(__file__).parents[1] / "docs" / "_ext" / "reference.py"
    )
    module = importlib.util.module_from_spec(about)
    about.loader.exec_module(module)
    return module


MODULES = [  # kernels are not for readers of docstrings
    info.name
    for info in pkgutil.walk_packages(timesurf.__path__, "timesurf.")
    if not info.name.startswith(("timesurf.engines.cpu.", "timesurf.engines.cuda.", "timesurf.__main__"))
]


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
        found = {code: why for code, why in numpydoc.validate(name)["errors"] if code in CHECKS}
        if "PR02" in found and set(re.findall(r"'(\w+)'", found["PR02"])) <= unpacked(name):
            del found["PR02"]
        yield from (f"{code}, {CHECKS[code]}: {why}" for code, why in found.items())


def unpacked(name):
    """Names that a signature takes as `**settings: Unpack[Settings]`, which numpydoc does not look into."""
    thing = reduce(getattr, name.removeprefix("timesurf.").split("."), importlib.import_module("timesurf"))
    if not inspect.isfunction(thing):
        return set()
    taken = [p.name for p in inspect.signature(thing).parameters.values() if p.kind is p.VAR_KEYWORD]
    hints = get_type_hints(thing) if taken else {}
    return {key for name in taken for settings in get_args(hints.get(name)) for key in settings.__annotations__}


@pytest.mark.parametrize("name", MODULES)
def test_docstrings_render_as_they_are_meant(name):
    try:
        module = importlib.import_module(name)
    except ImportError as error:  # the module says what it needs
        pytest.skip(str(error))
    found = [f"{thing}: {fault}" for thing, text in documented(module) if text for fault in faults(thing, text)]
    assert not found, "\n".join(found)


def test_what_is_public_exists_and_is_checked():
    public = load_reference().shown()
    assert set(public) <= {*MODULES, "timesurf"}
    assert not [name for name in public if re.match(r"timesurf\.(paper|bench|engines\.(cpu|cuda))\b", name)]
