"""A small version of Table 1: two networks, fewer recordings, seed 0.

Margins: k-means of 100 networks (seed 0, 1,000 recordings) lies between 0.53 and 0.58, Sup3r above 0.9926.
"""

import pytest

from timesurf.paper import table1 as classification


@pytest.fixture(scope="module")
def result():
    return classification.run(networks=2, seed=0, recordings=100)


def test_result_has_one_fraction_per_network(result):
    for name in ("sup3r", "kmeans"):
        for figure in ("event_accuracy", "kept"):
            assert len(result[name][figure]) == 2
            assert all(0 <= v <= 1 for v in result[name][figure])
    assert {"settings", "machine", "seconds"} <= set(result)


def test_kmeans_stays_near_chance_and_keeps_everything(result):
    assert all(0.5 < v < 0.62 for v in result["kmeans"]["event_accuracy"])
    assert result["kmeans"]["kept"] == [1, 1]


def test_figures_do_not_depend_on_the_number_of_workers(result):
    alone = classification.run(networks=2, seed=0, recordings=100, workers=1)
    assert alone["sup3r"] == result["sup3r"]
    assert alone["kmeans"] == result["kmeans"]


def test_one_full_network_reaches_the_papers_table():
    figures = classification.one(seed=0, number=0, recordings=1000)
    assert figures["sup3r"]["event_accuracy"] >= 0.994  # seed 0 reaches 0.998
    assert 0.14 <= figures["sup3r"]["kept"] <= 0.15
    assert 0.53 <= figures["kmeans"]["event_accuracy"] <= 0.58
