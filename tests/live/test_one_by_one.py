"""One recording at a time, as river does it."""

import numpy as np
import pytest

from timesurf import EventError, Full, Network
from timesurf.datasets import sentences
from timesurf.live.one_by_one import OneByOne


def test_recordings_that_come_one_by_one_are_learned_as_in_one_pass():
    data = sentences.make(6, seed=0, duration="1 ms")
    one, whole = (Network([Full(tau=10)], data.field, 1, data.classes).start(data) for _ in range(2))
    model = OneByOne(one)
    for recording in data:
        (events,) = recording.to_structured()
        model.learn_one(events, recording.labels[0])
    np.testing.assert_allclose(whole.partial_fit(data).parameters[0].centroids, one.parameters[0].centroids, rtol=1e-9)
    predicted = [model.predict_one(recording) for recording in data]
    votes = whole.infer(data).votes
    assert predicted == [whole.classes[n] for n in votes.argmax(axis=1)]
    shares = model.predict_proba_one(data[0])
    assert list(shares.values()) == pytest.approx((votes[0] / votes[0].sum()).tolist())
    model.learn_one(data[0])  # without a label


def test_nothing_is_predicted_before_anything_is_learned():
    data = sentences.make(2, seed=0, duration="1 ms")
    model = OneByOne(Network([Full(tau=10)], data.field, 1, data.classes))
    assert model.predict_one(data[0]) is None
    assert model.predict_proba_one(data[0]) == {}
    with pytest.raises(EventError, match="One recording"):
        model.learn_one(data)
