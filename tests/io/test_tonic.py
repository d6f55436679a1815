"""Data sets of tonic, here replaced by objects like them, since tonic itself is an extra."""

import sys

import numpy as np
import pytest

from timesurf import EventError
from timesurf.errors import MissingEngineError
from timesurf.io import tonic

DTYPE = [("x", "i2"), ("y", "i2"), ("t", "i8"), ("p", "i1")]


class LookAlike:
    sensor_size = (34, 30, 2)

    def __init__(self, recordings=3):
        self.recordings = recordings

    def __len__(self):
        return self.recordings

    def __getitem__(self, i):
        return np.array([(i, 1, 10, 0), (i, 2, 20, 1)], dtype=DTYPE), 7 + i


def test_a_data_set_becomes_recordings():
    reported = []
    recordings = tonic.read(LookAlike(), progress=lambda *done: reported.append(done))
    assert (recordings.field, recordings.polarities) == ((34, 30), 2)
    assert recordings.labels.tolist() == [7, 8, 9]
    assert recordings.coords[0].tolist() == [0, 0, 1, 1, 2, 2]
    assert reported == [(3, 3)]


def test_without_a_sensor_size_the_field_is_read_off_the_events():
    class Sizeless(LookAlike):
        sensor_size = None

    assert tonic.read(Sizeless()).field == (3, 3)


def test_cochleas_have_one_dimension():
    class Cochlea(LookAlike):
        sensor_size = (64, 1, 1)

        def __getitem__(self, i):
            return np.array([(i, 10, 0)], dtype=[("x", "i2"), ("t", "i8"), ("p", "i1")]), i

    assert tonic.read(Cochlea()).field == (64,)


def test_mistakes_are_named(monkeypatch, tmp_path):
    with pytest.raises(EventError, match="no recordings"):
        tonic.read(LookAlike(0))
    monkeypatch.setitem(sys.modules, "tonic", None)
    with pytest.raises(MissingEngineError, match=r"timesurf\[tonic\]"):
        tonic.named("NMNIST", tmp_path)
