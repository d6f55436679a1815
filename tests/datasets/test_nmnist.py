"""N-MNIST's files: written here byte by byte and read back, and the real thousand where it is available."""

import numpy as np
import pytest

from timesurf import EventError, transforms
from timesurf.datasets import nmnist


def encoded(x, y, p, t):
    high = (np.asarray(p) << 7 | np.asarray(t) >> 16).astype(np.uint8)
    middle, low = (np.asarray(t) >> 8 & 255).astype(np.uint8), (np.asarray(t) & 255).astype(np.uint8)
    return np.stack([np.asarray(x, np.uint8), np.asarray(y, np.uint8), high, middle, low], axis=1).tobytes()


@pytest.fixture
def folder(tmp_path, rng):
    for split, digits in (("Train", (3, 0, 7)), ("Test", (1,))):
        for number, digit in enumerate(digits, start=1):
            path = tmp_path / split / str(digit) / f"{number:05d}.bin"
            path.parent.mkdir(parents=True)
            n = 10 * number
            t = np.sort(rng.integers(0, 2**23, n))
            path.write_bytes(encoded(rng.integers(0, 34, n), rng.integers(0, 34, n), rng.integers(0, 2, n), t))
    return tmp_path


def test_files_are_decoded_in_order_and_kept(folder):
    reported = []
    train = nmnist.read(folder, progress=lambda *done: reported.append(done))
    assert train.labels.tolist() == [3, 0, 7]
    assert train.counts.tolist() == [10, 20, 30]
    assert (train.field, train.polarities) == ((34, 34), 2)
    assert reported == [(3, 3)]
    assert not nmnist.complete(train)
    again = nmnist.read(folder)  # from the kept file now
    assert (folder / "train.npz").is_file()
    for a, b in zip((*train.coords, train.t, train.p), (*again.coords, again.t, again.p), strict=True):
        np.testing.assert_array_equal(a, b)
    assert nmnist.read(folder, "test", cache=False).labels.tolist() == [1]
    assert not (folder / "test.npz").exists()


def test_a_clock_that_runs_over_goes_on(tmp_path):
    path = tmp_path / "a.bin"
    path.write_bytes(encoded([1, 0, 2], [1, 240, 2], [0, 0, 1], [8000, 0, 100]))
    x, y, p, t = nmnist.decode_file(path)
    assert (x.tolist(), y.tolist(), p.tolist(), t.tolist()) == ([1, 2], [1, 2], [0, 1], [8000, 8292])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\0" * 7, "cut short"),
        (encoded([40], [1], [0], [0]), r"event 0: \(40, 1\) lies off"),
        (encoded([1, 1], [1, 1], [0, 0], [9, 3]), "event 1: time decreases"),
    ],
)
def test_damaged_files_are_named(tmp_path, data, message):
    path = tmp_path / "a.bin"
    path.write_bytes(data)
    with pytest.raises(EventError, match=message):
        nmnist.decode_file(path)


def test_missing_data_says_what_to_get_and_where_to_put_it(tmp_path, monkeypatch):
    monkeypatch.delenv("TIMESURF_DATA", raising=False)
    for call in (lambda: nmnist.read(tmp_path), lambda: nmnist.decode(tmp_path)):
        with pytest.raises(EventError, match=r"Train\.zip"):
            call()
    with pytest.raises(EventError, match="split"):
        nmnist.read(tmp_path, "both")


def test_the_real_thousand(data_folder):
    if not (data_folder / nmnist.SAMPLE).is_file():
        pytest.skip(f"{nmnist.SAMPLE} is not there")
    digits = nmnist.prepared(nmnist.read(data_folder / nmnist.SAMPLE))
    assert len(digits) == 1000
    assert digits.labels[:5].tolist() == [5, 0, 4, 1, 9]
    assert (digits.field, digits.polarities) == ((28, 28), 1)


def test_stabilising_sharpens_real_digits(data_folder):
    """The saccades' directions are right: undone, strokes fall onto themselves; done twice, they smear."""
    if not (data_folder / nmnist.SAMPLE).is_file():
        pytest.skip(f"{nmnist.SAMPLE} is not there")
    digits = nmnist.read(data_folder / nmnist.SAMPLE)[:50]
    wrong_way = [(-x, -y) for x, y in transforms.SACCADES]
    still, raw, smeared = (
        sum(_sharpness(one) for one in some)
        for some in (transforms.stabilise(digits), digits, transforms.stabilise(digits, wrong_way))
    )
    assert still > 1.3 * raw > 1.3 * smeared


def _sharpness(recording):
    image = np.zeros(recording.field)
    np.add.at(image, recording.coords, 1)
    return (image**2).sum() / image.sum() ** 2
