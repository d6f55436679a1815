"""The figures on learning in float32 are those of the saved results, and what the page says of them holds."""

from benchmarks.senses_tables import filled

from benchmarks import float32_tables as tables


def test_the_page_holds_the_figures_of_the_results():
    page, found = tables.PAGE.read_text("utf-8"), tables.parts()
    assert all(f"<!-- {part} -->" in page for part in found)
    assert filled(page, found) == page, "run python -m benchmarks.float32_tables"


def test_all_nine_networks_adapt():
    last = [of[-1] for name, file in tables.ADAPTING.items() if "32" in name for of in last_steps(file)]
    assert len(last) == 9
    assert min(last) > 0.99


def last_steps(file):
    return tables.read(file)["adapting"]["steps"]


def test_the_mean_and_the_worst_are_in_per_cent():
    assert tables.mean_and_worst([0.5, 1.0]) == "75.00 % (50.00 %)"
