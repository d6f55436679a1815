"""The saccade simulator: its physics against formulas, its statistics against real recordings where there are some."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr

from benchmarks import saccades_realism as realism
from timesurf import EventError
from timesurf.datasets import mnist, nmnist, saccades
from timesurf.datasets.saccades import Camera

EXACT = Camera(spread=0, jitter=0, noise_on=0, noise_off=0, lag=1, dead=1, loss=0)


def bar(left=12, right=16):
    image = np.zeros((1, 28, 28))
    image[:, 4:24, left:right] = 1
    return image


def events(recordings):
    return [a.tolist() for a in (*recordings.coords, recordings.p, recordings.t, recordings.offsets)]


def test_a_seed_gives_the_same_events_for_any_number_of_threads(rng):
    images = rng.random((150, 12, 9)) > 0.7
    images = images.astype(np.float64)
    one = saccades.simulate(images, seed=5, threads=1)
    assert events(one) == events(saccades.simulate(images, seed=5, threads=3))
    assert events(one[:70]) == events(saccades.simulate(images[:70], seed=5))
    assert events(one) != events(saccades.simulate(images, seed=6))
    assert one.field == (15, 18)


def test_an_empty_picture_gives_noise_alone():
    empty = np.zeros((20, 28, 28), dtype=np.uint8)
    assert len(saccades.simulate(empty, camera=EXACT).t) == 0
    noise = saccades.simulate(empty, camera=replace(EXACT, noise_on=3.0, noise_off=1.0))
    seconds = 1e-6 * saccades.KNOT * (len(EXACT.path) - 1)
    assert len(noise.t) == pytest.approx(4 * seconds * 20 * 34 * 34, rel=0.05)
    assert noise.p.mean() == pytest.approx(0.75, abs=0.02)


def light(image, camera, path):
    """log(dark + 1 - blurred ink) of every pixel, from the formula, pixel by pixel."""
    height, width = image.shape

    def seen(n, corner):
        place = np.arange(n + 2 * camera.margin)[:, None] - corner
        return np.diff(ndtr((np.arange(n + 1) - 0.5 - place) / camera.blur), axis=1)

    return np.log(camera.dark + 1 - seen(height, path[1]) @ image @ seen(width, path[0]).T)


@given(st.integers(0, 100), st.floats(0.4, 1.0), st.floats(0.1, 1.0), st.floats(0.1, 0.5))
def test_events_add_up_to_the_change_of_light(seed, blur, dark, threshold):
    """Without spread, noise, lag and loss, every pixel has reported all of its change but less than a threshold."""
    image = np.random.default_rng(seed).random((1, 10, 12))
    camera = replace(EXACT, blur=blur, dark=dark, on=threshold, off=threshold)
    events = saccades.simulate(image, camera=camera, seed=seed)
    path = saccades.fine_path(camera.path)
    change = light(image[0], camera, path[-1]) - light(image[0], camera, path[0])
    net = np.zeros(change.shape)
    np.add.at(net, (events.coords[1], events.coords[0]), threshold * (2.0 * events.p - 1))
    assert np.abs(net - change).max() <= 1.5 * threshold + 0.05  # half a threshold at the start; samples of the light


def test_ink_darkens_where_it_comes_and_brightens_where_it_leaves():
    right = tuple((0.2 * k, 3.0) for k in range(40))
    events = saccades.simulate(bar(), camera=replace(EXACT, path=right))
    polarity, x = events.p, events.coords[0]
    assert (polarity[x > 20] == 0).all()  # beyond its old right edge
    assert (polarity[x < 14] == 1).all()  # its old left edge, 12 + 0
    assert len(polarity[x > 20]) > 0


def test_dead_time_and_thresholds_hold_events_back():
    events = saccades.simulate(bar(), camera=replace(EXACT, dead=3000))
    pixel = events.coords[1].astype(int) * 34 + events.coords[0]
    order = np.lexsort((events.t, pixel))
    same = np.diff(pixel[order]) == 0
    assert np.diff(events.t[order].astype(int))[same].min() >= 2999
    coarse = saccades.simulate(bar(), camera=replace(EXACT, on=2 * EXACT.on, off=2 * EXACT.off))
    assert 0 < len(coarse.t) < 0.7 * len(saccades.simulate(bar(), camera=EXACT).t)


@pytest.mark.parametrize(
    ("images", "message"),
    [
        (np.zeros((28, 28)), "expected"),
        (np.zeros((1, 2, 2), dtype=np.int64), "uint8"),
        (np.full((1, 2, 2), 255.0), "outside 0 to 1"),
        (np.full((1, 2, 2), np.nan), "outside 0 to 1"),
    ],
)
def test_what_is_no_picture_is_refused(images, message):
    with pytest.raises(EventError, match=message):
        saccades.simulate(images)


def test_digits_are_made_once_and_kept(tmp_path, rng):
    arrays = {f"x_{s}": rng.integers(0, 255, (n, 28, 28), dtype=np.uint8) for s, n in (("train", 5), ("test", 3))}
    arrays |= {"y_train": np.arange(5, dtype=np.uint8), "y_test": np.arange(3, dtype=np.uint8)}
    np.savez(tmp_path / "mnist.npz", **arrays)
    reported = []
    first = saccades.digits(tmp_path, cache=tmp_path / "kept", progress=lambda *done: reported.append(done))
    again = saccades.digits(
        tmp_path / "mnist.npz", cache=tmp_path / "kept", progress=lambda *done: reported.append(done)
    )
    assert events(first) == events(again)
    assert reported == [(5, 5)]
    assert first.labels.tolist() == [0, 1, 2, 3, 4]
    assert len(saccades.digits(tmp_path, "test", cache=tmp_path / "kept")) == 3
    assert len(list((tmp_path / "kept").iterdir())) == 2


def test_missing_or_strange_images_are_named(tmp_path):
    with pytest.raises(EventError, match=r"mnist\.npz: MNIST was not found"):
        mnist.read(tmp_path)
    (tmp_path / "mnist.npz").write_bytes(b"no archive")
    with pytest.raises(EventError, match="is not MNIST"):
        mnist.read(tmp_path)
    np.savez(tmp_path / "mnist.npz", x_train=np.zeros(3), y_train=np.zeros(3))
    with pytest.raises(EventError, match="shape"):
        mnist.read(tmp_path)
    with pytest.raises(EventError, match="split"):
        mnist.read(tmp_path, "all")


def test_simulated_digits_resemble_real_ones(data_folder):
    if not (data_folder / nmnist.SAMPLE).is_file() or not (data_folder / mnist.FILE).is_file():
        pytest.skip(f"{nmnist.SAMPLE} and {mnist.FILE} are not there")
    real = nmnist.read(data_folder / nmnist.SAMPLE)[:200]
    images, _ = mnist.read(data_folder)
    found = realism.distances(realism.counts(saccades.simulate(images[:200])), realism.counts(real))
    assert 0.9 < found["events"] < 1.1
    assert found["events_correlation"] > 0.95
    assert abs(found["polarity"] - found["other_polarity"]) < 0.02
    assert max(found[name] for name in ("rate", "bursts", "same", "other")) < 0.25
    assert found["correlation"] > 0.93
