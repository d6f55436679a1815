"""What is behind the page where a comparison turns: playback, the recorder, the show."""

import time

import numpy as np
import pytest

from tests.live.test_teaching import data, events_of, network  # noqa: F401
from timesurf import EventError, Full, Network, Recordings, Rule, SettingError
from timesurf.engines import Parameters
from timesurf.live import playback, recorder
from timesurf.live import show as show_module
from timesurf.live.playback import Playback
from timesurf.live.recorder import Recorder
from timesurf.live.show import Show

SECOND = 1_000_000


class Clock:
    """Seconds that pass only while somebody sleeps, or when they are set."""

    def __init__(self):
        self.now, self.slept = 100.0, []

    def perf_counter(self):
        return self.now

    def sleep(self, seconds):
        self.slept.append(seconds)


def three():
    """Recordings of 3, 0 and 2 events."""
    return Recordings(
        [[0, 1, 2, 3, 4]], [50, 1050, 20_050, 7, 8], offsets=[0, 3, 3, 5], field=(5,), labels=[4, None, 6]
    )


def played(recordings=None):
    clock = Clock()
    return Playback(three() if recordings is None else recordings, clock.perf_counter), clock


# ------------------------------------------------------------------ playback


def test_events_are_shown_from_their_own_time_on_at_any_speed():
    shown, clock = played()
    assert (shown.read()["t"].tolist(), shown.progress) == ([50], pytest.approx(1 / 3))
    clock.now += 0.0009
    assert len(shown.read()) == 0
    clock.now += 0.0002
    assert shown.read()["t"].tolist() == [1050]
    shown.go_at(0.01)
    clock.now += 1.0  # 10 ms of the recording
    assert len(shown.read()) == 0
    shown.go_at(1000)
    clock.now += 0.001
    assert shown.read()["t"].tolist() == [20_050]
    assert shown.progress == 1
    for wrong in (0.0099, 1001, float("nan")):
        with pytest.raises(SettingError, match="speed"):
            shown.go_at(wrong)


def test_time_stands_still_while_it_is_paused():
    shown, clock = played()
    shown.read()
    shown.paused = True
    clock.now += 10
    assert len(shown.read()) == 0
    shown.paused = False
    assert len(shown.read()) == 0
    shown.step()
    assert shown.paused
    assert shown.read()["t"].tolist() == [1050]  # 10 ms
    shown.step()
    assert shown.read()["t"].tolist() == [20_050]
    assert len(shown.read()) == 0
    assert shown.number == 0  # the next one does not begin by itself


def test_recordings_follow_one_another_and_begin_again():
    shown, clock = played()
    assert (shown.number, shown.began, shown.label, shown.loop) == (0, True, 4, True)
    clock.now += 1
    assert len(shown.read()) == 3
    shown.began = False
    assert len(shown.read()) == 0  # that of the second, which is empty
    assert (shown.number, shown.began, shown.label, shown.progress) == (1, True, None, 0)
    assert shown.read()["t"].tolist() == [7]
    assert (shown.number, shown.label, shown.ended) == (2, 6, False)
    shown.next(0)
    assert (shown.number, shown.progress) == (2, 0)
    shown.next()
    assert (shown.number, shown.ended) == (0, False)
    shown.next(-1)
    assert (shown.number, shown.ended) == (2, False)


def test_without_a_loop_the_last_recording_is_the_end_until_the_loop_or_a_button_goes_on():
    shown, clock = played()
    shown.loop = False
    seen = []
    for _ in range(6):
        clock.now += 1
        seen += shown.read()["t"].tolist()
    assert seen == [50, 1050, 20_050, 7, 8]  # each once, and the first not again
    assert (shown.number, shown.ended, shown.progress) == (2, True, 1)
    shown.next()
    clock.now += 1
    assert (len(shown.read()), shown.number, shown.ended) == (3, 0, False)
    shown.next(-1)
    clock.now += 1
    shown.read()
    assert shown.ended
    shown.loop = True
    clock.now += 1
    shown.read()
    assert (shown.number, shown.ended) == (0, False)


def test_packets_have_a_largest_size_and_nothing_cannot_be_shown(monkeypatch):
    monkeypatch.setattr(playback, "_MOST", 2)
    shown, clock = played()
    clock.now += 1
    assert [len(shown.read()) for _ in range(2)] == [2, 1]
    for nothing in (three()[1], three()[[]]):
        with pytest.raises(SettingError, match="no events"):
            played(nothing)


# ------------------------------------------------------------------ recorder


def test_as_much_is_recorded_as_there_is_room_for(monkeypatch):
    monkeypatch.setattr(recorder, "MOST_EVENTS", 5)
    kept, packet = Recorder(), np.zeros(3, [(name, int) for name in "xtp"])
    kept.add(packet, 1)
    assert (kept.on, kept.events) == (False, 0)
    kept.on = True
    kept.add(packet, 1)
    kept.add(packet[:2], 2)
    assert not kept.full
    kept.add(packet, 1)  # would be eight
    assert kept.full
    kept.add(packet[:0], 1)
    packet["x"] = 7
    found = kept.recordings((9,), 1)
    assert (kept.events, found.counts.tolist(), found.labels.tolist()) == (5, [3, 2], ["1", "2"])
    assert found.coords[0].tolist() == [0] * 5  # copies
    kept.clear()
    assert not kept.full
    with pytest.raises(EventError, match="Nothing"):
        kept.recordings((9,), 1)


# ------------------------------------------------------------------ the show


def wait_for(show, done):
    """Until the thread of a show has done something."""
    deadline = time.monotonic() + 20
    while not done():
        assert time.monotonic() < deadline
        show.ask(lambda: None).result(20)


class Camera:
    """A source of these packets."""

    def __init__(self, *packets):
        self.packets, self.ended, self.dropped = list(packets), False, 12

    def poll(self, seconds):
        assert 0 < seconds < 0.1
        return self.packets.pop(0) if self.packets else None


@pytest.fixture
def clock(monkeypatch):
    found = Clock()
    monkeypatch.setattr(show_module, "time", found)
    return found


def taken(show, packet):
    show._take(packet)
    return show.session.events


def test_what_a_camera_sends_is_taken_as_it_is(network, data, clock):  # noqa: F811
    packet = events_of(data[0], 77)
    show = Show(network, Camera(packet))
    found = show._next()
    assert found["t"].tolist() == packet["t"].tolist()
    assert taken(show, found) == 300
    assert (show.learned, show.recorder.events, show.view.refused) == (False, 0, 0)
    assert show._next() is None
    assert clock.slept == []
    show.camera.ended = True
    assert show._next() is None
    assert clock.slept == [0.004]
    show._take(packet[:3])  # too late
    assert (show.view.refused, "comes before" in show.view.reason, show.session.events) == (1, True, 300)
    show.recorder.on = True
    packet["t"] += 10 * SECOND
    show._take(packet)
    assert (show.recorder.events, show.learned) == (300, False)
    show.adapt(True)
    packet["t"] += SECOND
    show._take(packet)
    assert show.learned


def test_a_network_that_diverges_while_it_adapts_is_said_until_another_begins(network, data, clock):  # noqa: F811
    packet = events_of(data[0], 77)
    show = Show(network, Camera(), adapt=Rule(alpha=1e4, beta=1e4))
    show._take(packet)
    assert "diverged" in show.diverged
    assert show.view.network.parameters.same(network.parameters)
    show.begin(network)
    assert show.diverged == ""


def test_recordings_are_shown_after_all_that_came_before(network, data, clock):  # noqa: F811
    show = Show(network)
    show.play(data[:2])
    show.playback._clock = clock.perf_counter
    show.playback.next(0)
    clock.now += 10
    first = show._next()
    assert first["t"][0] == SECOND  # nothing came before: 0, and a second
    assert np.diff(first["t"]).tolist() == np.diff(data[0].t).tolist()
    show._take(first)
    show.playback.paused = True
    assert len(show._next()) == 0
    assert clock.slept == [0.004]
    show.playback.next()
    show.playback.paused = False
    clock.now += 10
    second = show._next()
    assert second["t"][0] == first["t"][-1] + SECOND
    assert (show.view.recordings, show.view.previous) == (1, show.session.decision or show.view.previous)
    show.play(None)
    assert show.playback is None


def test_the_polarity_is_left_out_where_a_network_has_one(network):  # noqa: F811
    packet = np.zeros(1, [(name, int) for name in "xytp"])
    assert Show(network)._fitting(packet).dtype.names == ("x", "y", "t")
    both = Network([Full(tau=1)], (2, 2), 2, ["a"])
    both.parameters = Parameters.of([np.zeros((1, 2, 2, 2))], [np.full(1, np.inf)])
    assert Show(both)._fitting(packet).dtype.names == ("x", "y", "t", "p")


def test_what_was_taught_is_rehearsed_in_turn_and_undone(network, data, clock):  # noqa: F811
    twice = (data + data.with_labels(data.labels))[[0, 1, 2, 6, 7, 8]]  # classes 0, 1 and 2, two of each
    show = Show(network, Camera(), rehearsal=twice)
    before = show.session.adapted().parameters
    show.teach("1")
    assert (show.label, show.undoable) == (1, 1)
    show.teach(1)  # already
    assert show.undoable == 1
    show._take(events_of(data[1]))
    assert (show.session.events, show.learned) == (300, True)
    version = show.view.version
    show.teach(None)
    assert (show.label, show.session.events, show.rehearsal.turn) == (None, 300, 1)  # those rehearsed are not counted
    assert show.session.changes == 1
    offline = network.twin(network.snapshot())
    for r in (1, 0, 2):
        offline.partial_fit(data[r])
    assert show.session.adapted().parameters.same(offline.parameters)
    assert show.view.version != version
    assert not show.session.adapted().parameters.same(before)
    assert len(show.session.adapted().history) == len(network.history) + 3
    show.undo()
    assert (show.session.changes, show.undoable) == (0, 0)
    assert show.session.adapted().parameters.same(before)
    with pytest.raises(EventError, match="nothing to undo"):
        show.undo()
    show.teach(2)
    show.undo()  # nothing was shown, and so nothing rehearsed
    assert (show.session.changes, show.rehearsal.turn) == (0, 1)
    assert show.session.adapted().parameters.same(before)
    with pytest.raises(EventError, match="'cat' is none"):
        show.teach("cat")


def test_a_number_is_added_as_a_number_where_all_classes_are(network, data, clock):  # noqa: F811
    show = Show(network, Camera())
    show._take(events_of(data[1]))
    show.add_class("9")
    assert show.session.network.classes.tolist() == [0, 1, 2, 3, 4, 5, 9]
    show.teach("9")
    assert show.label == 9
    with pytest.raises(SettingError, match="already"):
        show.add_class("9")


def test_no_more_can_be_undone_than_the_session_remembers(network, data, monkeypatch):  # noqa: F811
    monkeypatch.setattr(show_module, "_MARKS", 4)
    show = Show(network, Camera())
    for n in range(6):
        show.teach(n % 3)
        show._take(events_of(data[n % 3], (n + 1) * SECOND))
    show.teach(None)
    assert (show.session.changes, show.undoable) == (6, 4)
    for left in (3, 2, 1, 0):
        show.undo()
        assert show.undoable == left
    with pytest.raises(EventError, match="too many changes ago"):
        show.undo()
    show.teach(1)
    show._take(events_of(data[1], 20 * SECOND))
    show.undo()
    assert (show.session.changes, show.undoable) == (2, 0)


def test_what_is_learned_all_the_time_is_shown_every_two_seconds(network, data, clock):  # noqa: F811
    show = Show(network, Camera())
    show.adapt(True)
    versions = []
    for n in range(5):
        clock.now += 0.9
        show._take(events_of(data[n], (n + 1) * SECOND))
        versions.append(show.view.version)
    assert len(set(versions)) == 2  # new after 2.7 s
    assert not show.view.network.parameters.same(network.parameters)
    show.adapt(False)
    assert show.view.network.parameters.same(show.taught().parameters)
    version = show.view.version
    clock.now += 10
    show._take(events_of(data[0], 20 * SECOND))
    assert show.view.version == version


def test_packets_of_the_camera_are_prepared_for_the_network_of_now(network, data):  # noqa: F811
    other = network.twin(network.snapshot())

    def preparing(taker):
        def prepare(packet):
            if len(packet) == 3:
                raise EventError("three are refused")
            return packet[: 10 if taker is network else 20]

        return prepare

    show = Show(network, Camera(*(events_of(data[0])[:n] for n in (100, 3, 100))), preparing=preparing)
    assert len(show._next()) == 10
    assert len(show._next()) == 0
    assert (show.view.refused, show.view.reason) == (1, "three are refused")
    show.begin(other)
    assert len(show._next()) == 20


def test_how_far_behind_the_camera_the_show_is(network, data):  # noqa: F811
    show = Show(network, Camera())
    packet = events_of(data[0], 7)
    show.camera.newest = packet
    assert show.behind() == 0
    show._take(packet[:100])
    assert show.behind() == pytest.approx((packet["t"][-1] - packet["t"][99]) / 1e6)
    show.play(data)
    assert show.behind() == 0


def test_a_camera_that_drifts_is_noticed_and_a_drawing_is_not_watched(network, data):  # noqa: F811
    camera, drawing = Show(network, Camera()), Show(network)
    for show in (camera, drawing):
        for n in range(30):
            packet = events_of(data[n % 6], n * SECOND)
            if n >= 24:
                packet["x"] = packet["y"] = 0
            show._take(packet)
    assert "usually" in camera.watch.text
    assert drawing.watch.text == ""


def test_without_a_rehearsal_nothing_else_is_shown(network, data):  # noqa: F811
    show = Show(network, Camera())
    show.teach(1)
    show.teach(2)  # without a pause
    assert (show.label, show.session.events, show.undoable) == (2, 0, 2)
    show.undo()
    assert (show.label, show.undoable, show.session.changes) == (None, 1, 0)


def test_classes_come_and_go(network, data):  # noqa: F811
    show = Show(network, Camera())
    show._take(events_of(data[0]))
    for wrong in ("", "   ", "x" * 41):
        with pytest.raises(EventError, match="1 to 40"):
            show.add_class(wrong)
    show.teach(3)
    show.add_class("  big   dog ")
    assert (show.label, show.undoable) == (None, 2)
    assert "big dog" in show.session.network.classes
    assert "big dog" in show.view.network.classes
    show._take(events_of(data[0], 10 * SECOND))
    show.add_class("x" * 40)
    show.forget("big dog")
    assert show.undoable == 4
    assert "big dog" not in show.session.network.classes
    show.undo()
    assert "big dog" in show.view.network.classes
    assert "big dog" in show.taught().classes


def test_people_teach_the_delta_rule_ten_times_as_fast(network, data):  # noqa: F811
    slow = network.twin(network.snapshot())
    slow.rule = Rule(alpha=1e-4, last="delta")
    assert Show(slow, rehearsal=data).session._teaching == slow.rule.scaled(10)
    assert Show(slow).session._teaching == slow.rule
    assert Show(network, rehearsal=data).session._teaching == network.rule


def test_a_drawing_stays_when_another_network_begins(network):  # noqa: F811
    show = Show(network)
    show.pad.draw([(0.5, 0.1), (0.5, 0.9)])
    show.begin(network)
    assert len(show.pad.strokes) == 1
    line = Network([Full(tau=1)], (3,), 1, ["a"])
    line.parameters = Parameters.of([np.zeros((1, 3, 1))], [np.full(1, np.inf)])
    show.begin(line)
    assert show.pad is None
    assert show._next() is None
    show.clear()  # there is nothing to wipe


def test_a_drawing_is_looked_at_in_real_time_again_and_again(network, clock):  # noqa: F811
    show = Show(network)
    assert show._next() is None
    assert clock.slept == [0.004]
    show.pad.draw([(0.2, 0.1), (0.5, 0.9)])
    assert len(show._next()) == 0  # the look begins
    clock.now += 0.1
    first = show._next()
    assert first["t"][0] == SECOND
    assert first["t"][-1] < SECOND + 100_000
    show._take(first)
    clock.now += 0.4
    rest = show._next()
    assert first["t"][-1] <= rest["t"][0]
    assert rest["t"][-1] < SECOND + 500_000
    show._take(rest)
    clock.now += 0.04
    assert len(show._next()) == 0  # 0.54 s after it began
    clock.now += 0.02
    show._next()
    clock.now += 0.2
    second = show._next()
    assert second["t"][0] == rest["t"][-1] + SECOND
    show._take(second)
    assert (show.view.recordings, show.session.events) == (1, len(first) + len(rest) + len(second))
    show.clear()
    assert show.pad.blank
    assert show._next() is None


def test_a_camera_at_rest_sees_what_is_new_at_the_time_of_the_clock(network, clock):  # noqa: F811
    show = Show(network)
    show.pad.look_by("edges")
    show.pad.draw([(0.2, 0.1), (0.5, 0.9)])
    clock.now += 5
    show._next()
    clock.now += 0.05
    found = show._next()
    assert found["t"][0] == 5 * SECOND
    assert found["t"][-1] < 5 * SECOND + 30_000


def test_what_was_asked_for_is_done_by_the_thread_of_the_show(network):  # noqa: F811
    show = Show(network, Camera())
    assert not show.working
    with show:
        assert show.working
        assert show.ask(lambda: 7).result(20) == 7
        with pytest.raises(SettingError, match="no"):
            show.ask(lambda: (_ for _ in ()).throw(SettingError("no"))).result(20)
        show.camera.packets.append(np.zeros(3, [(name, int) for name in "xyt"]))
        wait_for(show, lambda: show.session.events > 0)
    assert (show.working, show.error, show.session.events) == (False, None, 3)


def test_an_error_of_the_source_ends_the_show_and_is_kept(network):  # noqa: F811
    camera = Camera()
    camera.poll = lambda seconds: 1 / 0
    with Show(network, camera) as show:
        show._thread.join(20)
        assert isinstance(show.error, ZeroDivisionError)
