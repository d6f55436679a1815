"""A profile of hypothesis changes the number of examples of every test."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

from tests.examples import LONG, USUAL, examples


@pytest.fixture
def profile():
    """Load a profile; afterwards the one from before."""
    yield settings.load_profile
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


def test_a_test_that_asks_for_fewer_draws_fifty_times_as_many_in_the_long_profile_too(profile):
    profile("default")
    assert (settings.default.max_examples, examples(8).max_examples) == (USUAL, 8)
    profile("long")
    assert (settings.default.max_examples, examples(8).max_examples) == (LONG, 400)


def test_no_test_states_a_number_that_the_profile_cannot_change():
    here = Path(__file__).parent
    stated = [path for path in here.rglob("*.py") if "max_examples" in path.read_text("utf-8")]
    assert {path.name for path in stated} == {"conftest.py", "examples.py", "test_examples.py"}
