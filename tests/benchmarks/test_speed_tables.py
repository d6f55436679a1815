"""The figures of the pages on speed are those of the saved results."""

import pytest
from benchmarks.senses_tables import filled

from benchmarks import speed_tables


@pytest.mark.parametrize("name", speed_tables.PAGES)
def test_pages_hold_the_figures_of_the_results(name):
    path, parts = speed_tables.PAGES[name]
    page, found = path.read_text("utf-8"), parts(speed_tables.read(name))
    assert all(f"<!-- {part} -->" in page for part in found)
    assert filled(page, found) == page, "run python -m benchmarks.speed_tables"


def test_each_job_of_each_network_has_its_row():
    result = speed_tables.read("speed")
    rows = speed_tables.speed_parts(result)["speed"].splitlines()[2:]
    jobs = [
        (network, job) for network, of in result["networks"].items() for job in of if job != "multiply_adds_per_event"
    ]
    assert [tuple(row.split(" | ")[:2]) for row in rows] == [(f"| {network}", job) for network, job in jobs]


def test_every_measurement_on_the_card_is_in_a_table():
    shown = {what for of in speed_tables.CARD.values() for what in of}
    shown |= {f"{units} units that rest, {what}" for units in (128, 512) for what in speed_tables.RESTING.values()}
    assert shown == {row["what"] for row in speed_tables.read("gpu")["rows"]}
