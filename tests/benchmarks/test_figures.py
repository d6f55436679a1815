"""Figures of the studies in benchmarks/."""

from benchmarks import sensitivity, study


def test_every_setting_has_a_panel():
    changed = [{"setting": "tau", "factor": f, "recording_accuracy": f / 20} for f in (0.1, 10)]
    fig = sensitivity.draw({"digits": {"changed": changed, "as_preset": {"recording_accuracy": 0.9}}})
    assert fig.axes[0].lines[0].get_xydata().tolist() == [[0.1, 0.005], [1, 0.9], [10, 0.5]]


def test_two_settings_are_a_map_and_batch_sizes_are_lines():
    grid = [{"a": a, "b": b, "recording_accuracy": 0.9, "kept": 1, "recordings": 5} for a in (1, 2) for b in (1, 2, 3)]
    assert [len(ax.texts) for ax in study.draw({"both": grid, "batch size": grid}).axes] == [6, 0]
