"""Real and simulated recordings compared, in small."""

from dataclasses import replace

import pytest

from benchmarks import saccades_realism
from timesurf import EventError, Recordings, presets
from timesurf.datasets import mnist, nmnist


def one(x, y, t, p, offsets=None):
    return saccades_realism.counts(Recordings([x, y], t, p, offsets, field=(34, 34), polarities=2))


def test_counts_of_a_few_events():
    found = one([3, 3, 3, 9], [1, 1, 1, 2], [0, 2_600, 120_000, 120_001], [1, 1, 0, 1])
    assert found["rate"][1, 0] == 2
    assert found["image"][1, 0, 0, 34 + 3] == 2
    assert found["image"][0, 1, 0, 34 + 3] == 1
    assert found["bursts"].sum() == 3  # pixels, by polarity and saccade, with any event
    assert found["same"].tolist().index(1) == 4  # 2.5 to 3 ms
    assert found["other"].sum() == 1


def test_distances_are_0_between_equal_recordings_and_grow():
    a = one([3, 4, 5], [1, 1, 1], [0, 10, 20], [1, 0, 1], [0, 2, 3])
    b = one([3, 4, 6], [1, 1, 1], [0, 10, 9_000], [1, 0, 1], [0, 2, 3])
    same, other = saccades_realism.distances(a, a), saccades_realism.distances(b, a)
    assert [same[name] for name in ("rate", "bursts", "image")] == [0, 0, 0]
    assert same["correlation"] == pytest.approx(1)
    assert other["rate"] == pytest.approx(2 / 3)
    assert other["correlation"] < 1


def test_networks_trained_on_one_kind_recognise_the_other(data_folder, monkeypatch):
    if not (data_folder / nmnist.SAMPLE).is_file() or not (data_folder / mnist.FILE).is_file():
        pytest.skip(f"{nmnist.SAMPLE} and {mnist.FILE} are not there")
    monkeypatch.setattr(saccades_realism, "preset", lambda n: replace(presets.nmnist(n), passes=8, sample=6))
    real = nmnist.read(data_folder / nmnist.SAMPLE)[:100]
    images, labels = mnist.read(data_folder)
    with pytest.raises(EventError, match="different digits"):
        saccades_realism.run(real, images[1:], labels[1:])
    result = saccades_realism.run(real, images, labels, seed=0, train=200)
    # chance is 0.1; the margins are several standard errors (0.03 to 0.09) wide
    assert result["trained_on"]["simulated"]["real"]["recording_accuracy"] > 0.7
    assert result["trained_on"]["real"]["simulated"]["recording_accuracy"] > 0.5
    assert result["chance"]["image"] < result["distances"]["image"]
    assert len(saccades_realism.draw(result).axes) == 2
