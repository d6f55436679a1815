"""The figures of the page on microcontrollers are those of the saved results."""

from benchmarks.senses_tables import filled

from benchmarks import microcontroller_tables as tables


def test_the_page_holds_the_figures_of_the_results():
    page, found = tables.PAGE.read_text("utf-8"), tables.parts()
    assert all(f"<!-- {part} -->" in page for part in found)
    assert filled(page, found) == page, "run python -m benchmarks.microcontroller_tables"


def test_the_least_and_the_most_have_one_digit():
    assert tables.between([2.4e-7, 9.1e-5, 1e-6]) == "2e-7 to 9e-5"
    assert tables.between([0.12]) == "1e-1"
