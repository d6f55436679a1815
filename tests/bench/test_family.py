import json

import numpy as np
import pytest
from typer.testing import CliRunner

from timesurf import Recordings, SettingError, plots
from timesurf.bench import family, processes, senses, settings
from timesurf.bench.processes import Plan
from timesurf.cli.app import app
from timesurf.cli.family import shown_change


def blinking(recordings, seed):
    """Events anywhere on 6 x 6 pixels, mostly of polarity 0 or mostly of polarity 1."""
    rng, events = np.random.default_rng(seed), 80
    labels = np.arange(recordings) % 2
    p = (rng.random((recordings, events)) < 0.1) ^ labels[:, None]
    t = np.sort(rng.integers(0, 10_000, (recordings, events)), axis=1)
    x, y = rng.integers(0, 6, (2, recordings * events))
    offsets = events * np.arange(recordings + 1)
    return Recordings([x, y], t.ravel(), p.ravel(), offsets, field=(6, 6), polarities=2, labels=labels)


@pytest.fixture
def few(monkeypatch):
    """A small data set, and one whose file is missing."""
    made = {"blinking": lambda folder, seed: senses.Split(blinking(24, seed), blinking(12, 9))}
    monkeypatch.setattr(family, "LONG", 1e-9)  # one measurement of speed is enough here
    monkeypatch.setattr(senses, "SENSES", made | {"braille touch": senses.SENSES["braille touch"]})


def test_all_methods_are_measured_on_the_same_split_and_missing_files_are_passed_over(few, tmp_path):
    said, saved = [], []
    result = family.run(
        tmp_path, 1, only=["blink", "braille"], shots=[1], plan=Plan(report=said.append, save=saved.append)
    )
    rows = result["family"]
    assert {(row["method"], row["per_class"]) for row in rows} == {(m, n) for m in family.METHODS for n in (None, 1)}
    assert not [row["error"] for row in rows if "error" in row]
    assert {row["learned_from"] for row in rows} == {24, 2}
    whole = family.summary(rows)["blinking"]
    assert all(whole[name]["recording_accuracy"] >= 0.9 for name in ("default", "hots", "cosine", "linear", "hats"))
    assert whole["default"]["speed"] == 1
    untimed = [{name: row[name] for name in row if name != "events_per_s"} for row in rows]
    assert np.isnan(family.summary(untimed)["blinking"]["hots"]["speed"])
    assert "units" not in whole["hats"]
    assert whole["hots"]["units"] >= whole["hots"]["used"] >= whole["hots"]["evenly_used"] > 1
    assert whole["preset"]["units"] == 32
    assert whole["spiking"]["units"] == whole["hots"]["units"]
    assert 0 < whole["spiking"]["kept"] < 1  # a spike sums up several events
    assert any("braille_touch_1348.npz is not in" in text for text in said)
    assert saved[-1]["family"] == rows
    curves = family.curves(rows)
    assert list(curves["blinking"]["hots"]) == ["1", "all"]
    assert curves["blinking"]["hots"]["all"] == whole["hots"]["recording_accuracy"]


def test_as_many_recordings_of_each_class_are_drawn(few):
    train = senses.SENSES["blinking"](None, 0).train
    drawn = family.few(train, 3, seed=0)
    assert np.unique(drawn.labels, return_counts=True)[1].tolist() == [3, 3]
    assert drawn.starts.tolist() != family.few(train, 3, seed=1).starts.tolist()
    assert family.few(train, 13, seed=0) is None  # no class has so many


def test_units_are_used_evenly_if_they_win_equally_often():
    assert family._used(blinking(1, 0)[:0]) == {"units": 2, "used": 0, "evenly_used": 0.0}
    rows = [{"data": "d", "seed": s, "per_class": None, "method": "default", "recording_accuracy": 0.5 + s / 10,
             "events_per_s": 2.0, "kept": 1.0} for s in (0, 1)]  # fmt: skip
    found = family.summary(rows)["d"]["default"]
    assert found["recording_accuracy"] == pytest.approx(0.55)
    assert found["standard_error"] == pytest.approx(0.05)


def test_unknown_methods_are_refused_with_those_that_exist():
    with pytest.raises(SettingError, match="there are default, preset, spiking, hots"):
        family.run(None, 1, methods=["guessing"])


def test_the_command_prints_draws_and_writes(few, tmp_path):
    json_file, picture = tmp_path / "family.json", tmp_path / "family.png"
    options = "--method default --method hats --only blink --seeds 1 --small 20 --shots 0"
    written = ["--json", str(json_file), "--plot", str(picture)]
    shown = CliRunner().invoke(app, ["bench", "family", *options.split(), *written])
    assert shown.exit_code == 0, shown.output
    assert "2 measurements, 1 at a time" in shown.output
    rows = json.loads(json_file.read_text("utf-8"))["family"]
    assert [row["method"] for row in rows] == ["default", "hats"]
    assert {row["learned_from"] for row in rows} == {20}
    assert picture.stat().st_size > 0


def test_each_setting_is_changed_by_itself_on_recordings_that_are_held_out(few, monkeypatch, tmp_path):
    monkeypatch.setattr(settings, "FACTORS", {"tau": (3.0,), "units_per_class": (2,)})
    said = []
    rows = settings.run(tmp_path, 1, plan=Plan(report=said.append))["settings"]
    assert [(row["setting"], row["factor"]) for row in rows] == [("law", 1), ("tau", 3), ("units_per_class", 2)]
    assert {(row["learned_from"], row["held_out"]) for row in rows} == {(16, 8)}
    assert sum("braille_touch_1348.npz is not in" in text for text in said) == 1
    assert set(settings.changes(rows)) == {"tau x 3", "units_per_class x 2"}
    assert all(row["log_probability"] <= 0 for row in rows)


def test_methods_are_compared_on_the_splits_that_have_both():
    rows = [
        {"data": "d", "seed": seed, "method": method, "per_class": number, "recording_accuracy": accuracy}
        for seed, method, number, accuracy in [
            (0, "feast", None, 0.9),
            (1, "feast", None, 0.7),
            (2, "feast", None, 0.1),
            (0, "hots", None, 0.6),
            (1, "hots", None, 0.6),
            (2, "hots", 3, 0.6),
        ]
    ]
    assert family.ahead(rows, "feast", "hots")["d"] == pytest.approx((0.2, 0.1))
    assert family.ahead(rows, "hots", "homeostasis") == family.ahead(rows, "feast", "hots", per_class=3) == {}


def test_changes_are_differences_to_the_law_of_the_same_split():
    rows = [
        {"data": "d", "seed": seed, "setting": setting, "factor": factor, "recording_accuracy": right,
         "log_probability": likely}
        for seed, setting, factor, right, likely in [
            (0, "law", 1, 0.5, -1.0),
            (1, "law", 1, 0.7, -0.5),
            (0, "tau", 3, 0.6, -2.0),
            (1, "tau", 3, 0.6, -2.5),
        ]
    ]  # fmt: skip
    assert settings.changes(rows)["tau x 3"]["d"] == pytest.approx((0, 0.1))
    assert settings.changes(rows[:3])["tau x 3"]["d"] == pytest.approx((0.1, float("nan")), nan_ok=True)
    assert settings.changes(rows, "log_probability")["tau x 3"]["d"] == pytest.approx((-1.5, 0.5))


def test_a_small_study_uses_recordings_of_all_classes_in_turn():
    some = settings._of_all_classes(blinking(40, 0), 6, 0)
    assert np.unique(some.labels, return_counts=True)[1].tolist() == [3, 3]


def test_jobs_begin_in_order_and_none_begins_late():
    said = []
    assert list(processes.each(abs, [-1, 2, -3])) == [(-1, 1), (2, 2), (-3, 3)]
    assert list(processes.each(abs, [-1], Plan(minutes=0.0, report=said.append))) == []
    assert "1 measurements were left out" in said[-1]


def test_processes_give_the_same_results_as_one(monkeypatch):
    assert sorted(processes.each(abs, [-1, 2, -3], Plan(processes=2))) == [(-3, 3), (-1, 1), (2, 2)]


def test_changes_are_shown_with_their_error_where_there_is_one():
    assert [shown_change(0.012, 0.004), shown_change(-0.02, float("nan"))] == ["+1.2 ± 0.4", "-2.0"]
    assert shown_change(-0.123, 0.04, 1, ".2f") == "-0.12 ± 0.04"


def test_settings_are_drawn_as_a_map_with_gaps_where_nothing_was_measured():
    fig = plots.settings({"tau x 3": {"one": (0.011, 0.1), "two": (-0.02, 0.1)}, "alpha x 3": {"one": (0.0, 0.1)}})
    assert [text.get_text() for text in fig.axes[0].texts] == ["+1.1", "-2.0", "+0.0"]
