import numpy as np
import pytest

from timesurf import Recordings
from timesurf.baselines import ann


def test_left_and_right_are_distinguished(rng):
    pytest.importorskip("torch", reason="the ANN rows need PyTorch, the extra `bench`")
    images = 0.5 * rng.random((200, 10, 10))
    labels = np.array(["left", "right"])[np.arange(200) % 2]
    images[::2, :, :5] += 0.5
    images[1::2, :, 5:] += 0.5
    calls = []
    predicted = [
        ann.fit(images[:160], labels[:160], side=3, units=4, passes=20, seed=0, progress=lambda *n: calls.append(n))(
            images[160:]
        )
        for _ in range(2)
    ]
    assert (predicted[0] == labels[160:]).mean() >= 0.9  # the classes do not overlap: 1.0 is possible
    assert predicted[0].tolist() == predicted[1].tolist()
    assert calls[0] == (1, 20)


def test_images_of_counts_do_not_depend_on_time():
    r = Recordings([[0, 1, 1, 1, 1], [0, 2, 2, 2, 2]], t=[0, 1, 2, 3, 4], offsets=[0, 5, 5], field=(3, 4))
    images = ann.event_images(r)
    assert images.shape == (2, 4, 3)
    assert images[0, 0, 0] == 0.5
    assert images[0, 2, 1] == 1
    assert images[1].sum() == 0  # an empty recording
