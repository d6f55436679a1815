import json

import numpy as np
import pytest
from typer.testing import CliRunner

from tests.bench.test_family import blinking
from timesurf import plots, transforms
from timesurf.bench import robustness, senses
from timesurf.bench.processes import Plan
from timesurf.cli.app import app


@pytest.fixture
def few(monkeypatch):
    """A small data set, and one whose file is missing."""
    made = {"blinking": lambda folder, seed: senses.Split(blinking(24, seed), blinking(12, 9))}
    monkeypatch.setattr(senses, "SENSES", made | {"braille touch": senses.SENSES["braille touch"]})
    robustness._split_of.cache_clear()
    yield
    robustness._split_of.cache_clear()


def test_methods_learn_once_from_clean_recordings_and_see_the_same_disturbed_ones(few, monkeypatch, tmp_path):
    seen, said, saved = {}, [], []

    def watched(method):
        def learn(of):
            seen.setdefault(method, []).append(of.train.fingerprint())
            fitted = robustness.family.METHODS["hats"](of)

            def score(test):
                seen[method].append(test.fingerprint())
                return fitted.score(test)

            return fitted._replace(score=score)

        return learn

    monkeypatch.setattr(robustness, "METHODS", {name: watched(name) for name in ("one", "two")})
    plan = Plan(report=said.append, save=lambda result: saved.append(len(result["robustness"])))
    rows = robustness.run(tmp_path, 1, only=["blink", "braille"], plan=plan)["robustness"]
    assert seen["one"] == seen["two"]
    assert seen["one"][:2] == [blinking(24, 0).fingerprint(), blinking(12, 9).fingerprint()]
    levels = sum(len(of.levels) for of in robustness.DISTURBANCES.values())
    assert len(set(seen["one"])) == len(seen["one"]) == 2 + levels  # each level differs, nothing is scored twice
    assert len(rows) == 2 * (levels + len(robustness.DISTURBANCES))
    assert saved == [len(rows) // 2, len(rows)]
    assert sum("braille_touch_1348.npz is not in" in text for text in said) == 1
    assert {(row["learned_from"], row["tested"]) for row in rows} == {(24, 12)}


def test_each_level_disturbs_as_much_as_it_says():
    test = blinking(12, 0)
    seconds = float((test.t[test.offsets[1:] - 1] - test.t[test.offsets[:-1]]).sum()) / 1e6

    def events(name, level):
        return len(robustness.DISTURBANCES[name].apply(test, level, 0).t)

    whole = len(test.t)
    assert events("dropped events, %", 75) == pytest.approx(0.25 * whole, rel=0.2)
    assert events("noise events per s and pixel", 30) - whole == pytest.approx(30 * 36 * seconds, rel=0.4)
    assert events("hot pixels", 10) - whole == pytest.approx(10 * 1000 * seconds, rel=0.1)
    for name, how in (("jitter in time, ms", {"time": "3 ms"}), ("jitter in place, pixels", {"pixels": 3})):
        disturbed = robustness.DISTURBANCES[name].apply(test, 3, 0)
        assert disturbed.fingerprint() == transforms.jitter(test, **how, seed=0).fingerprint()


def test_the_methods_classify_clean_recordings_and_curves_start_there(few):
    rows = robustness.run(None, 1, only=["blink"])["robustness"]
    found = robustness.curves(rows)["blinking"]
    assert list(found) == list(robustness.DISTURBANCES)
    for disturbance, methods in found.items():
        assert list(methods) == ["default", "hots", "counts"]
        for method, curve in methods.items():
            assert list(curve) == [0, *robustness.DISTURBANCES[disturbance].levels]
            assert curve[0][0] >= 0.9, method


def test_curves_are_means_over_seeds_with_their_standard_error():
    row = {"data": "d", "disturbance": "hot pixels", "method": "hots", "level": 3}
    rows = [row | {"recording_accuracy": right} for right in (0.5, 0.6)]
    assert robustness.curves(rows)["d"]["hot pixels"]["hots"][3] == pytest.approx((0.55, 0.05))
    assert np.isnan(robustness.curves(rows[:1])["d"]["hot pixels"]["hots"][3][1])


def test_the_command_prints_draws_and_writes(few, tmp_path):
    json_file, picture = tmp_path / "robustness.json", tmp_path / "robustness.png"
    options = ["--only", "blink", "--seeds", "1", "--small", "20", "--json", str(json_file), "--plot", str(picture)]
    shown = CliRunner().invoke(app, ["bench", "robustness", *options])
    assert shown.exit_code == 0, shown.output
    assert "blinking, seed 0, counts" in shown.output
    assert "hot pixels" in shown.output
    assert len(json.loads(json_file.read_text("utf-8"))["robustness"]) == 75
    assert picture.stat().st_size > 0


def test_a_panel_per_disturbance_and_a_row_per_data_set_are_drawn():
    curve = {0: (0.9, 0.01), 3.0: (0.5, float("nan"))}
    fig = plots.robustness({"one": {"a, ms": {"x": curve, "y": curve}, "b": {"x": curve}}, "two": {"b": {"x": curve}}})
    assert len(fig.axes) == 4
    assert [len(ax.containers) for ax in fig.axes] == [2, 1, 0, 1]
    assert [ax.get_xlabel() for ax in fig.axes] == ["", "", "a, ms", "b"]
