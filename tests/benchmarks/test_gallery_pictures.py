"""Examples begin with pictures of results on real recordings: small files, drawn from what was measured."""

import json

import numpy as np
import pytest
from matplotlib.figure import Figure

from benchmarks import gallery_pictures
from timesurf import Recordings

ROOT = gallery_pictures.ROOT


@pytest.mark.parametrize("name", gallery_pictures.PICTURES)
def test_pictures_are_small_and_on_a_page(name):
    assert (ROOT / "docs" / "images" / f"{name}.png").stat().st_size < 60_000
    pages = [page.read_text("utf-8") for page in (ROOT / "docs" / "gallery").glob("plot_*.py")]
    assert sum(f"/images/{name}.png" in page and f"gallery_pictures.py FOLDER {name}" in page for page in pages) == 1


@pytest.mark.parametrize("data", gallery_pictures.PICTURES.values())
def test_every_method_was_measured_on_every_split(data):
    measured = json.loads((ROOT / "benchmarks" / "results" / "senses.json").read_text("utf-8"))["senses"]
    (of,) = (of for of in measured if of["data"] == data)
    ax = Figure().subplots()
    gallery_pictures.splits(ax, of)
    dots = [line.get_ydata() for line in ax.lines[::2]]
    assert [len(of_method) for of_method in dots] == [len(of["seeds"])] * len(gallery_pictures.METHODS)
    np.testing.assert_allclose(dots[0], 100 * np.array(of["default"]))


def test_recordings_begin_at_zero():
    data = Recordings([[0, 1, 0, 1, 1]], t=[5, 7, 2, 2, 9], offsets=[0, 2, 5], field=(2,))
    assert gallery_pictures.from_zero(data).t.tolist() == [0, 2, 0, 0, 7]
