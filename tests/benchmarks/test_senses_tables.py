"""Tables of README and of pages on the family, settings and robustness are those of the saved results."""

import json

import pytest

from benchmarks import senses_tables


@pytest.mark.parametrize("name", senses_tables.PAGES)
def test_pages_hold_the_tables_of_the_results(name):
    result = json.loads((senses_tables.RESULTS / f"{name}.json").read_text())
    path, parts = senses_tables.PAGES[name]
    page, found = path.read_text(), parts(result)
    assert any(f"<!-- {part} -->" in page for part in found)
    assert senses_tables.filled(page, found) == page, "run benchmarks/senses_tables.py"


def test_the_best_method_is_bold():
    of = {name: {"recording_accuracy": share, "standard_error": 0.01} for name, share in (("a", 0.5), ("b", 0.75))}
    assert senses_tables.by_method({"data": of}, senses_tables.accuracy).splitlines() == [
        "|  | data |",
        "| --- | --- |",
        "| `a` | 50.0 ± 1.0 |",
        "| `b` | **75.0** ± 1.0 |",
    ]


@pytest.mark.parametrize(
    ("other", "best"),
    [([0.5, 0.6, 0.7], "a"), ([0.7, 0.6, 0.9], None), ([0.8] * 3, None), ([0.9] * 3, "b")],
)
def test_a_method_within_the_error_of_another_is_not_the_best(other, best):
    assert senses_tables.clearly_best({"a": [0.79, 0.8, 0.81], "b": other}) == best


def test_a_single_split_has_no_clear_best():
    assert senses_tables.clearly_best({"a": [0.9], "b": [0.1]}) is None


def test_a_range_of_one_value_is_that_value():
    row = {"data": "POKER pips"} | {name: [1.0, 1.0] for name in senses_tables.SENSES}
    line = senses_tables.senses_parts({"senses": [row]})["senses"].splitlines()[-1]
    assert line == "| playing-card suits (POKER-DVS) | 100.0 % | 100 % | 100.0 % | 100.0 % | 100.0 % |"


def test_only_methods_that_reject_events_are_named():
    found = {"one": {"a": {"kept": 1.0}, "b": {"kept": 0.43}}, "two": {"b": {"kept": 0.999}}}
    assert senses_tables.kept(found) == "`b` keeps 43 % of one. Everywhere else all are kept."


def test_only_what_is_between_the_marks_changes():
    page = "before\n<!-- one -->\nold\n<!-- end -->\n<!-- two -->\nkept\n<!-- end -->\n"
    assert senses_tables.filled(page, {"one": "new"}) == page.replace("old", "\nnew\n")


def test_the_text_on_transfer_says_what_was_measured():
    networks = json.loads((senses_tables.RESULTS / "transfer.json").read_text())["networks"]
    whole, kept = (networks[n] for n in ("moved, and images rewritten (`--handwriting 3`)", "the same, `--keep 0.5`"))
    page, readme = (
        (senses_tables.ROOT / "docs" / "table3.md").read_text(),
        (senses_tables.ROOT / "README.md").read_text(),
    )
    same_seed = whole["simulated"]["seeds"][0] - kept["simulated"]["recording_accuracy"]
    assert f"cost {100 * same_seed:.2f} points on simulated recordings beside the network of the same seed" in page
    assert all(of["zero_shot"]["recording_accuracy"] > 0.99 for name, of in networks.items() if "moved" in name)
    preset = networks["`digits`: moved, and bent copies"]
    for part, digits in (("simulated", 2), ("zero_shot", 1)):
        assert f"**{100 * preset[part]['recording_accuracy']:.{digits}f} %**" in readme
    two = json.loads((senses_tables.RESULTS / "digits_two_cores.json").read_text())
    assert f"took {two['whole_s']:.0f} s: {two['start_s']:.0f} s for the start, {two['winners_s']:.0f} s for" in page
    assert f"that makes {two['for_60000_s'] / 60:.0f} minutes" in page
