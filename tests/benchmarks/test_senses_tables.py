"""Tables of README and of pages on the family, settings and robustness are those of the saved results."""

import json

import pytest

from benchmarks import senses_tables


@pytest.mark.parametrize("name", senses_tables.PAGES)
def test_pages_hold_the_tables_of_the_results(name):
    result = json.loads((senses_tables.RESULTS / f"{name}.json").read_text("utf-8"))
    path, parts = senses_tables.PAGES[name]
    page, found = path.read_text("utf-8"), parts(result)
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


def test_a_range_whose_ends_would_be_printed_alike_has_a_decimal():
    assert senses_tables.of_range([0.9958, 1, 1]) == "99.6 to 100.0 %"
    assert senses_tables.of_range([0.93, 1]) == "93 to 100 %"


def test_only_methods_that_reject_events_are_named():
    found = {"one": {"a": {"kept": 1.0}, "b": {"kept": 0.43}}, "two": {"b": {"kept": 0.999}}}
    assert senses_tables.kept(found) == "`b` keeps 43 % of one. Everywhere else all are kept."


def test_only_what_is_between_the_marks_changes():
    page = "before\n<!-- one -->\nold\n<!-- end -->\n<!-- two -->\nkept\n<!-- end -->\n"
    assert senses_tables.filled(page, {"one": "new"}) == page.replace("old", "\nnew\n")


def test_all_rows_with_moved_recordings_are_above_99_percent_on_real_ones():
    networks = senses_tables.read("transfer")["networks"]
    assert all(of["zero_shot"]["recording_accuracy"] > 0.99 for name, of in networks.items() if "moved" in name)
