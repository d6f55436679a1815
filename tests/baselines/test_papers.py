"""Every baseline that others have published cites its paper and states its equation."""

import re
from importlib import import_module
from pkgutil import iter_modules

import pytest

from timesurf import baselines

OWN = {"counts", "features"}  # no method of a paper


@pytest.mark.parametrize("name", sorted({found.name for found in iter_modules(baselines.__path__)} - OWN))
def test_a_baseline_cites_its_paper_and_has_its_equation(name):
    about = import_module(f"timesurf.baselines.{name}").__doc__
    assert re.search(r"[A-Z]\w+ .*\(\d{4}\)", about)
    assert re.search(r"::\n\n    \S.* = ", about)
