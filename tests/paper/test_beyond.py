"""Rows beyond the paper's Table 3, on ten simulated pictures."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter
from typer.testing import CliRunner

from timesurf import presets, transforms
from timesurf.cli.app import app
from timesurf.datasets import nmnist, saccades
from timesurf.paper import beyond, table3


@pytest.fixture(scope="module")
def whole():
    """Six recordings of each of ten blurred random pictures, a fifth of their events."""
    pictures = gaussian_filter(np.random.default_rng(0).random((10, 28, 28)), (0, 2, 2))
    pictures = (pictures > np.quantile(pictures, 0.8)).astype(np.float64)
    digits = np.tile(np.arange(10), 6)
    return transforms.drop(saccades.simulate(pictures[digits], digits, seed=1), 0.8)


@pytest.fixture
def brief(monkeypatch):
    """The rows with few passes and few units."""

    def shorter(preset):
        hidden = [replace(layer, units=16) for layer in preset.layers[:-1]]
        return replace(preset, layers=(*hidden, preset.layers[-1]), passes=3, bent=min(preset.bent, 1), sample=20)

    small = {name: lambda recordings, make=make: shorter(make(recordings)) for name, make in beyond.PRESETS.items()}
    monkeypatch.setattr(beyond, "PRESETS", small)


def test_the_papers_rows_see_the_same_events_as_before_with_polarities_merged(whole):
    both = nmnist.cropped(whole)
    split = table3.Split(both[:40], both[40:])
    assert (both.polarities, both.field) == (2, (28, 28))
    assert set(np.unique(both.p)) == {0, 1}
    assert split.merged().train.fingerprint() == nmnist.prepared(whole)[:40].fingerprint()
    assert split.merged().test.fingerprint() == nmnist.prepared(whole)[40:].fingerprint()


def test_rows_beyond_the_paper_learn_from_both_polarities(whole, brief, monkeypatch):
    both, seen = nmnist.cropped(whole), []

    def paper(split, *rest):
        seen.append(split.train.polarities)
        return {"recording_accuracy": 1.0, "tested": len(split.test), "seconds": 0.0}

    def first(split, *rest, row=table3._ROWS["both"]):
        seen.append(split.train.polarities)
        return row(split, *rest)

    monkeypatch.setitem(table3._ROWS, "hots_linear", paper)
    monkeypatch.setitem(table3._ROWS, "both", first)
    rows = ("hots_linear", "both", "units_64", "keep_50", "two_layers")
    result = table3.run([table3.Split(both[:40], both[40:])], "pictures", rows=rows)
    assert seen == [1, 2]
    for name in ("units_64", "keep_50", "two_layers"):
        assert result[name]["recording_accuracy"] >= 0.8, name  # of ten pictures; chance is 0.1
    assert result["units_64"]["kept"] == result["two_layers"]["kept"] == 1
    assert result["keep_50"]["kept"] == pytest.approx(0.5, abs=0.1)
    assert list(result["settings"]["beyond"]) == list(rows[1:])
    assert "features" not in result["units_64"]  # they would be megabytes


def test_each_row_changes_what_it_says():
    made = {name: make(60_000) for name, make in beyond.PRESETS.items()}
    assert list(made) == list(beyond.ROWS)
    assert not set(made) & set(table3.ROWS)
    assert made["both"] == table3.nmnist(60_000)
    assert [made[name].layers[0].stride for name in ("both", "both_stride", "units_64")] == [1, 4, 4]
    assert [made[f"units_{n}"].layers[0].units for n in (64, 128, 256, 512)] == [64, 128, 256, 512]
    assert {name: p.layers[-1].units_per_class for name, p in made.items() if p.layers[-1].units_per_class > 1} == (
        dict.fromkeys(("per_class", "moved", "digits", "keep_70", "keep_50", "keep_20", "two_layers"), 3)
    )
    assert [made[f"keep_{n}"].keep for n in (70, 50, 20)] == [0.7, 0.5, 0.2]
    assert made["digits"] == presets.digits(60_000)
    assert [made[name].moved for name in ("per_class", "moved", "digits", "keep_50")] == [(), *[(1, 1)] * 3]
    assert [(made[name].bent, made[name].passes) for name in ("moved", "digits", "keep_50")] == [
        (0, 32),
        (3, 8),
        (3, 8),
    ]
    assert [layer.stride for layer in made["two_layers"].layers[:-1]] == [2, 2]
    for name, preset in made.items():
        if name not in ("both", "both_stride"):
            assert preset.rule.alpha[:-1] == (0,) * (len(preset.layers) - 1)
            assert (preset.rule.last, preset.start, preset.margin) == ("delta", "quick", math.inf)
    assert [(p.bent, p.passes, p.batch_size) for p in map(presets.digits, (20, 900, 9999, 60_000, 10**6))] == [
        (12, 60, 16), (12, 5, 16), (12, 2, 16), (3, 8, 256), (3, 8, 256),
    ]  # fmt: skip


def test_the_command_offers_them(whole, brief, tmp_path):
    from timesurf.io import npz

    npz.write(tmp_path / "a.npz", whole)
    words = ["bench", "nmnist", "--npz", str(tmp_path / "a.npz"), "--folds", "2", "--mnist", str(tmp_path)]
    done = CliRunner().invoke(app, [*words, "--rows", "units_64"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert "64 k-means units" in done.output
    assert "--beyond" in CliRunner().invoke(app, ["bench", "nmnist", "--help"], env={"COLUMNS": "200"}).output
