"""Which events are on the card: the bookkeeping, on NumPy arrays in the place of CuPy's."""

import gc

import numpy as np
import pytest

from timesurf import EventError, Recordings
from timesurf.bench import workloads


@pytest.fixture
def cudaevents(cuda, monkeypatch):
    monkeypatch.setattr(cuda.events, "room", lambda: 1 << 40)
    return cuda.events


def sent(cudaevents, recordings):
    ((events, _),) = cudaevents.stretches([recordings], [np.zeros(len(recordings), int)], [slice(0, len(recordings))])
    return events


def test_events_are_identified_by_all_arrays_and_the_field_and_are_freed_with_them(cudaevents):
    data = workloads.strokes(4, events=100)
    mirrored = Recordings([27 - data.coords[0], data.coords[1]], data.source, offsets=data.offsets, field=data.field)
    for some in (data, mirrored, data.on_field((40, 40), 1), data[[2, 0]]):
        events = sent(cudaevents, some)
        np.testing.assert_array_equal(events.entry, some.whole.entries())
        np.testing.assert_array_equal(events.t, some.whole.t)
    assert len(cudaevents._on_card) == 3
    with pytest.raises(EventError, match="selected from one"):
        list(cudaevents.stretches([data, mirrored], [np.zeros(4, int)] * 2, [slice(0, 4)]))
    del data, mirrored, some, events
    gc.collect()
    assert not cudaevents._on_card


def test_lanes_are_networks_whose_short_ones_end_in_empty_recordings(cudaevents):
    from timesurf.engines import pack

    data = workloads.strokes(5, events=10)
    events = cudaevents.of_lanes(pack(data, np.arange(5)), [np.array([3, 0]), np.array([4, 1, 2])])
    np.testing.assert_array_equal(events.counts, [[10, 10, 0], [10, 10, 10]])
    np.testing.assert_array_equal(events.start[1], [40, 10, 20])
    np.testing.assert_array_equal(events.label[1], [4, 1, 2])
