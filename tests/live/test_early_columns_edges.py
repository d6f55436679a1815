"""Early decisions as a table."""

from types import SimpleNamespace

import numpy as np

from timesurf import Recordings
from timesurf.live.early import columns
from timesurf.metrics import SILENT


def test_a_silent_recording_has_no_decision_and_the_others_have_names():
    network = SimpleNamespace(classes=np.array(["a", "b"]))
    recordings = Recordings([[0, 0]], t=[3, 4], offsets=[0, 2, 2], field=(1,), labels=["a", None])
    found = SimpleNamespace(
        classes=np.array([1, SILENT]), sure=np.array([True, False]), events=np.array([1, 0]), time=np.array([7, 0])
    )
    table = columns(network, recordings, found)
    assert (table["decision"], table["label"], table["events_used"]) == (["b", None], ["a", None], [1, 0])
