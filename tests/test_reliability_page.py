"""Figures on the page on reliability are those of the saved results."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
LIVE = {"UDP datagrams": "udp", "standard input": "stdin", "`Session.push`": "session", "transforms": "transform"}


def saved(name):
    return json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text(encoding="utf-8"))


def row(first):
    """The cells of the only line of a table that begins so."""
    (line,) = re.findall(rf"^\| {re.escape(first)} \|(.*)\|$", PAGE, re.MULTILINE)
    return [cell.strip() for cell in line.split("|")]


@pytest.mark.parametrize("name", LIVE)
def test_live_input_was_fuzzed_as_often_as_the_page_says(name):
    found = saved("fuzz_live")["targets"][LIVE[name]]
    assert row(name) == [
        f"{found['inputs']:,}", f"{found['refused'] / found['inputs']:.0%}", "none",
        f"{1e3 * found['slowest_s']:,.0f} ms", f"{found['memory_beyond_file'] / 1e6:.2f} MB",
    ]  # fmt: skip
    assert not found["findings"]


@pytest.mark.parametrize("name", LIVE.values())
def test_live_input_was_fuzzed_with_a_million_inputs_each(name):
    assert saved("fuzz_live")["targets"][name]["inputs"] >= 1_000_000


@pytest.mark.parametrize("name", saved("mutants"))
def test_every_draw_of_mutants_has_its_share(name):
    draw = saved("mutants")[name]
    caught = sum(result["caught"] for result in draw["results"])
    assert (len(draw["results"]), caught) == (draw["mutants"], draw["caught"])
    _, run, share = row(f"{name.removesuffix(' draw')}, `--seed {draw['seed']}`")
    assert (run, share) == (f"{draw['mutants']}", f"{caught} ({caught / draw['mutants']:.1%})")
