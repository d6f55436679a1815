import numpy as np
import pytest

from timesurf import SettingError, metrics, plots
from timesurf.engines import pack, reference
from timesurf.errors import NotFittedError
from timesurf.plots.running import CURVES, settled, votes_so_far


def lines(ax):
    return {line.get_label(): line for line in ax.lines}


@pytest.mark.parametrize("k", [0, 1, 2])
def test_separability_is_what_the_rule_learns_from(text, reader, k, monkeypatch):
    recording, judged = text[1], []
    judge = reference.judge
    monkeypatch.setattr(reference, "judge", lambda *args: judged.append(judge(*args)) or judged[-1])
    batch = pack(recording, reader.class_numbers(recording))
    reference.infer(reader.stages, reader.parameters, batch)
    S, dS = (np.array([each[which][k] for each in judged]) for which in (0, 1))
    ax = plots.separability(reader, recording, k)
    np.testing.assert_allclose(lines(ax)["S"].get_ydata(), S, atol=1e-4)
    np.testing.assert_allclose(lines(ax)["dS"].get_ydata(), dS, atol=1e-4)
    assert lines(ax)["S, mean of 20"].get_ydata()[30] == pytest.approx(S[11:31].mean(), abs=1e-4)


def test_the_last_share_is_that_of_the_votes(text, reader):
    votes = reader.infer(text[1]).votes[0]
    ax = plots.decision(reader, text[1])
    shown = {name.removesuffix(" (true)"): line.get_ydata()[-1] for name, line in lines(ax).items() if name[0] == "v"}
    assert shown == pytest.approx(dict(zip(reader.classes, votes / votes.sum(), strict=True)))
    assert reader.classes[votes.argmax()] in ax.get_title()
    assert "vxvyty (true)" in lines(ax)


def test_running_votes_agree_with_the_running_decisions(camera, watcher):
    recording = camera[2]
    trace = watcher.trace(recording)
    vote = np.where(trace.passed == 3, trace.winner[:, -1], -1)
    after = np.arange(1, 301)
    decided = metrics.running_decisions(vote, recording.offsets, after, 10)[0]
    shares = votes_so_far(watcher, recording)
    np.testing.assert_array_equal(np.where(shares.any(axis=1), shares.argmax(axis=1), -1), decided)
    since = settled(shares)
    assert (decided[since:] == decided[-1]).all()
    assert since == 0 or decided[since - 1] != decided[-1]


def test_a_recording_without_a_vote_is_drawn_too(text, reader):
    silent = type(reader)(reader.layers, reader.field, 1, reader.classes)
    silent.parameters = reader.snapshot()
    silent.parameters[0].thresholds[:] = 0
    assert plots.decision(silent, text[0]).get_title() == "no output event, no decision"
    assert "0 output events" in plots.separability(silent, text[0]).get_title()


def test_classes_without_votes_are_not_in_the_legend(camera, watcher):
    votes = watcher.infer(camera[2]).votes[0]
    names = [name.get_text() for name in plots.decision(watcher, camera[2]).get_legend().get_texts()]
    assert names == [f"{c} (true)" if c == 2 else str(c) for c in range(10) if votes[c] or c == 2]


def test_confusion_has_the_names_of_classes(text, reader):
    counts = metrics.confusion(reader.infer(text).votes, reader.class_numbers(text))
    ax = plots.confusion(counts, reader.classes)
    assert [name.get_text() for name in ax.get_xticklabels()] == [*reader.classes, "none"]
    assert [name.get_text() for name in ax.get_yticklabels()] == [*reader.classes]
    assert sorted(int(each.get_text()) for each in ax.texts) == sorted(counts[counts > 0])
    assert f"{reader.evaluate(text)['recording_accuracy']:.1%} of 30 correct" in ax.get_title()
    assert len(plots.confusion([[3, 0], [1, 2]], "ab").get_xticklabels()) == 2
    with pytest.raises(SettingError, match=r"counts of shape \(2, 3\) for 3 classes"):
        plots.confusion(counts, "abc")


def test_learning_curves_follow_the_history(reader):
    ax = plots.learning_curves(reader.history)
    for name, title in CURVES.items():
        assert lines(ax)[title].get_ydata().tolist() == [figures[name] for figures in reader.history]
        assert lines(ax)[title].get_xdata().tolist() == [1, 2, 3]
    strokes = {(lines(ax)[title].get_linestyle(), lines(ax)[title].get_marker()) for title in CURVES.values()}
    assert len(strokes) == 3  # they differ without colour too


def test_passes_without_validation_leave_a_gap():
    without = {"event_accuracy": 0.5, "kept": 1.0}
    ax = plots.learning_curves([without, {**without, "validation_accuracy": 0.8}])
    np.testing.assert_array_equal(lines(ax)["validation accuracy"].get_ydata(), [np.nan, 0.8])
    assert "validation accuracy" not in lines(plots.learning_curves([without]))
    with pytest.raises(NotFittedError, match="history is empty"):
        plots.learning_curves([])


def test_how_soon_it_decides_is_a_curve():
    ax = plots.early({"events": [10, 100], "recording_accuracy": [0.3, 0.9]})
    assert ax.lines[0].get_xydata().tolist() == [[10, 0.3], [100, 0.9]]
    assert ax.get_xscale() == "log"


@pytest.mark.parametrize(("since", "shown", "label"), [(0.0, 2.0, "time, s"), (1.6e9, 0.0, "s since 1600000000.000 s")])
def test_decisions_over_time_fill_the_picture_whenever_the_clock_began(since, shown, label):
    begin = [since + 2 + k for k in range(3)] if not since else [since + k for k in range(3)]
    table = {
        "recording": [0] * 3, "begin_s": begin, "end_s": [b + 1 for b in begin], "decision": ["a", "b", "a"],
        "confidence": [0.9, 0.5, 0.7],
    }  # fmt: skip
    ax = plots.timeline(table, ["a", "b", "c"]).axes[0]
    low, high = ax.get_xlim()
    assert shown - 0.5 < low <= shown
    assert shown + 3 <= high < shown + 3.5
    assert ax.get_xlabel() == label
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b"]


def test_pieces_that_overlap_are_drawn_up_to_the_next():
    table = {
        "file": ["x"] * 3 + ["y"], "recording": [0] * 4, "begin_s": [0.0, 0.5, 1.0, 0.25],
        "end_s": [1.0, 1.5, 2.0, 1.25],
        "decision": ["a", "b", "a", "b"], "confidence": [0.9] * 4,
    }  # fmt: skip
    bars = plots.timeline(table, ["a", "b"]).axes[0].patches
    assert [(bar.get_x(), bar.get_width()) for bar in bars] == [(0.0, 0.5), (0.5, 0.5), (1.0, 1.0), (0.25, 1.0)]
