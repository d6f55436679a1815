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


def test_only_what_is_between_the_marks_changes():
    page = "before\n<!-- one -->\nold\n<!-- end -->\n<!-- two -->\nkept\n<!-- end -->\n"
    assert senses_tables.filled(page, {"one": "new"}) == page.replace("old", "\nnew\n")
