"""What is behind the page: drawings as events, playback, recording, and frames."""

import json
import struct

import numpy as np
import pytest

from tests.live.test_teaching import data, network  # noqa: F401
from timesurf import EventError, SettingError
from timesurf.live.pad import Pad
from timesurf.live.playback import Playback
from timesurf.live.recorder import Recorder
from timesurf.live.session import Session
from timesurf.live.view import DRAWN, View


def test_a_drawing_is_centred_and_as_large_for_any_place_and_size():
    small, large = Pad((34, 34), 2), Pad((34, 34), 2)
    small.draw([(0.1, 0.1), (0.2, 0.1), (0.2, 0.3)])
    large.draw([(0.2, 0.2), (0.5, 0.2), (0.5, 0.8)])
    np.testing.assert_allclose(small.picture(), large.picture(), atol=0.2)
    assert 0.05 < large.picture().mean() < 0.4


def test_a_resting_camera_sees_only_what_is_new():
    pad = Pad((34, 34), 2, "edges")
    pad.draw([(0.2, 0.2), (0.8, 0.2)])
    first = pad.events(since=100)
    assert len(first) > 20
    assert len(pad.events(since=10**6)) < len(first) / 4
    pad.draw([(0.2, 0.8), (0.8, 0.8)])
    later = pad.events(since=2 * 10**6)
    assert np.median(later["y"]) > np.median(first["y"]) + 10
    assert first["t"][0] == 100


def test_drawings_fit_other_fields_and_nonsense_is_refused():
    for field, polarities in (((28, 28), 1), ((64, 48), 2)):
        pad = Pad(field, polarities)
        pad.draw([(0.5, 0.1), (0.5, 0.9)])
        events = pad.events(since=0)
        assert events["x"].max() < field[0]
        assert events["y"].max() < field[1]
        assert events["p"].max() < polarities
    with pytest.raises(SettingError, match="between 0 and 1"):
        pad.draw([(0.5, float("nan"))])
    with pytest.raises(SettingError, match="at most"):
        pad.draw([(0.5, 0.5)] * 30_000)
    with pytest.raises(SettingError, match="plane"):
        Pad((8,), 2)
    pad.clear()
    assert len(pad.events(since=0)) == 0


def test_playback_keeps_time_pauses_steps_and_loops(data):  # noqa: F811
    now = [0.0]
    shown = Playback(data[:2], clock=lambda: now[0])
    first = len(shown.read())
    now[0] = 0.05
    part = first + len(shown.read())
    (events,) = data[0].to_structured()
    assert part == np.searchsorted(events["t"], events["t"][0] + 50_000, side="right")
    shown.paused = True
    now[0] = 0.1
    assert len(shown.read()) == 0
    shown.step()
    assert len(shown.read()) == np.searchsorted(events["t"], events["t"][0] + 60_000, side="right") - part
    shown.paused = False
    shown.go_at(100)
    now[0] = 10.0
    shown.read()
    shown.read()
    assert shown.number == 1
    shown.next()
    assert shown.number == 0
    with pytest.raises(SettingError, match="speed"):
        shown.go_at(0)


def test_what_was_recorded_has_the_labels_it_was_shown_with():
    recorder, packet = Recorder(), np.zeros(3, [(name, np.int64) for name in "xytp"])
    recorder.add(packet, 1)
    with pytest.raises(EventError, match="Nothing was recorded"):
        recorder.recordings((8, 8), 2)
    recorder.on = True
    for label in (1, 1, None, 2):
        recorder.add(packet, label)
    held = recorder.recordings((8, 8), 2)
    assert held.labels.tolist() == ["1", "", "2"]
    assert held.counts.tolist() == [6, 3, 3]
    recorder.clear()
    assert recorder.events == 0


def test_a_frame_has_the_latest_events_with_their_winners(network, data):  # noqa: F811
    view, session = View(network), Session(network)
    (events,) = data[0].to_structured()
    whole = np.concatenate([events] * 8)
    whole["t"] = np.sort(whole["t"])
    for packet in np.array_split(whole, 5):
        view.add(packet, session.push(packet), session, 0.001)
    frame = view.frame({"label": None})
    (size,) = struct.unpack("<I", frame[:4])
    state = json.loads(frame[4 : 4 + size])
    n = state["n"]
    assert n == DRAWN
    assert state["not_drawn"] == len(whole) - DRAWN
    assert state["stream_s"] == (whole["t"][-1] - whole["t"][0]) / 1e6
    x = np.frombuffer(frame, "<u2", n, 4 + size)
    np.testing.assert_array_equal(x, whole["x"][-n:])
    winners = np.frombuffer(frame, "<i2", n, 4 + size + 4 * n)
    assert winners.max() < network.stages[0].units
    assert (winners >= 0).mean() > 0.5
    assert len(frame) == 4 + size + 7 * n
    assert abs(sum(state["shares"]) - 1) < 0.01
    view.look()  # what came before that is not missing
    assert '"not_drawn": 0' in view.frame({})[4:].decode(errors="replace")
    view.add(events, session.push(events[:0]), session, 0.001)  # times go back: the clock was set anew
    assert struct.unpack("<I", view.frame({})[:4])[0] > 100
    assert json.loads(view.frame({})[4 : 4 + struct.unpack("<I", view.frame({})[:4])[0]])["n"] == 0
