"""What the page on reliability says of saved results beyond their figures, which test_quoted.py holds."""

import json
from pathlib import Path

import pytest

RESULTS = Path(__file__).resolve().parents[1] / "benchmarks" / "results"


def saved(name):
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", ["udp", "stdin", "session", "transform"])
def test_live_input_was_fuzzed_with_a_million_inputs_each(name):
    assert saved("fuzz_live")["targets"][name]["inputs"] >= 1_000_000
    assert not saved("fuzz_live")["targets"][name]["findings"]


@pytest.mark.parametrize("name", saved("mutants"))
def test_every_draw_of_mutants_has_its_share(name):
    draw = saved("mutants")[name]
    caught = sum(result["caught"] for result in draw["results"])
    assert (len(draw["results"]), caught) == (draw["mutants"], draw["caught"])
