import pytest
from typer.testing import CliRunner

from timesurf import Network, SettingError, tuning
from timesurf.bench import senses
from timesurf.bench.processes import Plan
from timesurf.cli.app import app
from timesurf.datasets import sentences
from timesurf.learning.knobs import LAW


@pytest.fixture
def few(monkeypatch):
    """Forty sentences, and a data set whose file is missing."""
    made = {"sentences": lambda folder, seed: senses.Split(sentences.make(40, seed=seed), sentences.make(20, seed=9))}
    monkeypatch.setattr(senses, "SENSES", made | {"braille touch": senses.SENSES["braille touch"]})


def test_a_row_compares_the_default_with_other_methods_and_missing_files_are_passed_over(few, tmp_path):
    said = []
    result = senses.run(tmp_path, 1, plan=Plan(report=said.append))
    (row,) = result["senses"]
    assert row["recordings"] == [40, 20]
    assert row["default"][0] >= 0.9  # two sentences that differ in one of six characters
    assert row["default"][0] > row["preset"][0]  # which needs a thousand recordings
    assert all(0 <= row[name][0] <= 1 for name in ("counts_1", "counts_8", "hots", "kept"))
    assert row["why"][0][0].startswith("rhythm")
    assert any("braille_touch_1348.npz is not in" in text for text in said)


def test_a_small_version_takes_few_recordings(few):
    (row,) = senses.run(None, 2, only=["SENT"], methods=["counts_1"], small=20)["senses"]
    assert row["recordings"] == [20, 10]
    assert row["seeds"] == [0, 1]
    assert len(row["counts_1"]) == 2
    assert "default" not in row


@pytest.mark.parametrize("wrong", [{"methods": ["guessing"]}, {"only": ["smell"]}])
def test_unknown_methods_and_data_sets_are_refused_with_those_that_exist(wrong):
    with pytest.raises(SettingError, match=r"there are (default|sentences)"):
        senses.run(None, 1, **wrong)


def test_the_command_prints_a_row_per_data_set(few, tmp_path):
    shown = CliRunner().invoke(
        app,
        ["bench", "senses", "--method", "counts_8", "--only", "sent", "--seeds", "1", "--json", str(tmp_path / "f")],
    )
    assert shown.exit_code == 0, shown.output
    assert "sentences" in shown.output
    assert (tmp_path / "f").is_file()


def test_every_fold_is_measured_once_unless_told(few, monkeypatch):
    monkeypatch.setattr(senses, "SPLITS", {"sentences": 2})
    (row,) = senses.run(None, methods=["counts_1"], small=20)["senses"]
    assert row["seeds"] == [0, 1]
    monkeypatch.setattr(senses, "SPLITS", {})
    assert len(senses.run(None, methods=["counts_1"], small=20)["senses"][0]["seeds"]) == 3


def test_tuning_that_finds_nothing_better_is_the_default(few, monkeypatch):
    trained = []
    monkeypatch.setattr(senses.tuning, "judged", lambda learn, judge, label, *_: tuning.Judged(label < 1, label - 1.0))
    fit = Network.fit
    monkeypatch.setattr(Network, "fit", lambda self, *of, **how: trained.append(self) or fit(self, *of, **how))
    (row,) = senses.run(None, 1, methods=["default", "tuned"], trials=2)["senses"]
    assert row["tuned"] == row["default"]
    assert len(trained) == 1
    assert "nothing was clearly better" in row["tuning"][0]
    assert [trial["knobs"] for trial in row["trials"][0]] == [{}, dict(tuning.STEPS[:1])]


def test_tuning_that_finds_something_trains_with_it(few, monkeypatch):
    def judged(learn, judge, label, knobs, *_):
        better = knobs.copies > 1
        return tuning.Judged((label < 1) | better, 0.01 * label - (not better))

    monkeypatch.setattr(senses.tuning, "judged", judged)
    (row,) = senses.run(None, 1, methods=["tuned"], trials=2)["senses"]
    assert row["tuning"][0].startswith("tuning: copies x 4: 50.0% -> 100.0%")
    assert row["tuned"][0] >= 0.9


def test_tuning_is_limited_by_minutes_or_by_trials(few, monkeypatch):
    asked = []
    found = tuning.Tuned(LAW, (tuning.Trial(0, LAW, 4, 1.0, 0.0, True, 1.0),))
    monkeypatch.setattr(senses.tuning, "tune", lambda train, **limits: asked.append(limits) or found)
    senses.run(None, 1, methods=["tuned"], minutes=2, small=8)
    senses.run(None, 1, methods=["tuned"], minutes=2, trials=3, small=8)
    assert [(each["minutes"], each["trials"]) for each in asked] == [(2, None), (None, 3)]
