"""What pages may ask of a show, where a comparison turns."""

import asyncio

import numpy as np
import pytest

from tests.live.test_show_edges import Camera, wait_for
from tests.live.test_teaching import data, events_of, network  # noqa: F401
from timesurf import EventError, Full, Network, SettingError
from timesurf.engines import Parameters
from timesurf.live import acts as acts_module
from timesurf.live.acts import Acts
from timesurf.live.host import Host
from timesurf.live.show import Show


@pytest.fixture
def acts(network, data, tmp_path):  # noqa: F811
    show = Show(network, Camera(), rehearsal=data)
    with show:
        yield Acts(show, {"some": data[:2], "none": data[2:]}, tmp_path / "m.tsf", data)


def do(acts, act, **about):
    return asyncio.run(acts.do({"do": act, **about}))


def wrong(acts, act, **about):
    with pytest.raises((SettingError, EventError)) as error:
        do(acts, act, **about)
    return str(error.value)


def test_acts_that_there_are_not(acts):
    for name in ("fly", None, 3, ["draw"]):
        assert "no act" in wrong(acts, name)
    assert "Nothing is played" in wrong(acts, "control", paused=True)
    assert "no file 'x'" in wrong(acts, "play", file="x")


def test_recordings_are_played_and_controlled(acts, data):  # noqa: F811
    assert (acts.playing, acts.state()["source"], acts.state()["playback"]) == (None, "camera", None)
    assert do(acts, "play", file="some") == ""
    do(acts, "control", paused=True, loop=False, speed=4)
    do(acts, "control", next=1)
    state = acts.state()
    assert (state["source"], state["files"], acts.playing) == ("file", ["some", "none"], "some")
    about = state["playback"]
    assert (about["number"], about["of"], about["label"], about["file"]) == (2, 2, "1", "some")
    assert (about["paused"], about["loop"], about["speed"]) == (True, False, 4.0)
    do(acts, "control", step=True)
    wait_for(acts.show, lambda: acts.state()["playback"]["progress"] > 0)
    assert round(acts.state()["playback"]["progress"], 3) == acts.state()["playback"]["progress"]
    do(acts, "play", file=None)
    assert (acts.state()["playback"], acts.playing) == (None, None)


def test_the_first_file_is_played_where_there_is_no_camera(network, data):  # noqa: F811
    alone = Acts(Show(network), {"a": data[:1], "b": data[1:]})
    assert (alone.playing, alone.show.playback.recordings.counts.tolist()) == ("a", [300])
    drawing = Acts(Show(network))
    assert (drawing.state()["source"], drawing.state()["files"], drawing.state()["ended"]) == ("draw", [], False)
    assert (drawing.state()["lost"], drawing.state()["out"]) == (0, None)


def test_what_goes_with_every_frame(acts):
    state = acts.state()
    assert (state["dropped"], state["lost"], state["ended"], state["label"]) == (12, 0, False, None)
    assert not state["adapt"]
    assert (state["look"], state["unsaved"], state["undo"], state["recorded"]) == ("saccades", False, 0, 0)
    acts.show.camera.ended = True
    assert acts.state()["ended"]
    do(acts, "play", file="some")
    assert not acts.state()["ended"]
    do(acts, "label", name="2")
    do(acts, "adapt", on=True)
    assert (acts.state()["label"], acts.state()["adapt"], acts.state()["undo"]) == ("2", True, 1)
    acts.nobody()
    acts.show.ask(lambda: None).result(20)
    assert acts.state()["label"] is None
    do(acts, "undo")
    assert acts.state()["undo"] == 0


def test_drawings_have_a_most_of_points_per_message(acts):
    do(acts, "draw", points=[[0.5, 0.5]] * 2000, new=True)
    assert "at most 2000" in wrong(acts, "draw", points=[[0.5, 0.5]] * 2001)
    assert "at most 2000" in wrong(acts, "draw", points="many")
    do(acts, "draw", points=[[0.1, 0.1]])
    do(acts, "draw", points=[[0.1, 0.1]], new=True)
    assert list(map(len, acts.show.pad.strokes)) == [2001, 1]
    do(acts, "look", look="edges")
    assert (acts.show.pad.look, acts.show.pad.blank) == ("edges", True)
    do(acts, "draw", points=[[0.1, 0.1]])
    do(acts, "clear")
    assert acts.show.pad.blank


def test_what_is_recorded_begins_when_it_is_asked_for(acts, tmp_path):
    with pytest.raises(EventError, match="Nothing was recorded"):
        asyncio.run(acts.write(tmp_path / "r.npz"))
    for _ in range(2):
        do(acts, "record", on=True)
        acts.show.camera.packets.append(np.zeros(3, [(name, int) for name in "xyt"]))
        wait_for(acts.show, lambda: acts.state()["recorded"] > 0)
    do(acts, "record", on=False)
    assert (acts.state()["record"], acts.state()["recorded"]) == (False, 3)
    asyncio.run(acts.write(tmp_path / "r.npz"))
    assert acts_module.npz.read(tmp_path / "r.npz").polarities == 2


def test_models_are_saved_and_loaded(acts, data, tmp_path):  # noqa: F811
    acts.show.camera.packets.append(events_of(data[0]))
    wait_for(acts.show, lambda: acts.show.session.events > 0)
    assert do(acts, "new", name="dog") == "Hold its button to show more of it."
    assert acts.state()["unsaved"]
    assert do(acts, "save") == f"Saved to {tmp_path / 'm.tsf'}"
    assert not acts.state()["unsaved"]
    do(acts, "forget", name="dog")
    assert "dog" not in acts.show.session.network.classes
    assert asyncio.run(acts.load((tmp_path / "m.tsf").read_bytes())) == "Loaded."
    assert "dog" in acts.show.session.network.classes
    assert acts.held_out is data
    for field, why in (((8, 8, 1), "3 dimensions"), ((9, 9), "does not fit some")):
        other = Network([Full(tau=1)], field, 1, ["a"])
        other.parameters = Parameters.of([np.zeros((1, *field, 1))], [np.full(1, np.inf)])
        other.save(tmp_path / "o.tsf")
        with pytest.raises(SettingError, match=why):
            asyncio.run(acts.load((tmp_path / "o.tsf").read_bytes()))
    alone = Acts(acts.show, held_out=data)
    asyncio.run(alone.load((tmp_path / "o.tsf").read_bytes()))
    assert alone.held_out is None  # it is of another field
    assert "No path was given" in wrong(alone, "save")


def test_only_a_save_counts_as_saved_and_another_model_has_nothing_unsaved(acts, data, tmp_path):  # noqa: F811
    acts.show.camera.packets.append(events_of(data[0]))
    wait_for(acts.show, lambda: acts.show.session.events > 0)
    do(acts, "new", name="dog")
    asyncio.run(acts.write(tmp_path / "downloaded.tsf"))  # by anybody who looks
    assert acts.state()["unsaved"]
    acts.out = tmp_path / "nowhere" / "m.tsf"
    with pytest.raises(OSError, match="nowhere"):
        do(acts, "save")
    assert acts.state()["unsaved"]
    acts.out = tmp_path / "m.tsf"
    do(acts, "save")
    assert not acts.state()["unsaved"]
    do(acts, "forget", name="dog")
    assert acts.state()["unsaved"]
    asyncio.run(acts.load((tmp_path / "m.tsf").read_bytes()))
    assert not acts.state()["unsaved"]


def test_another_model_gets_the_recordings_as_it_takes_them(network, data, tmp_path):  # noqa: F811
    network.save(tmp_path / "m.tsf")
    fits = []

    def fit(recordings, taken_by, name):
        fits.append((name, taken_by is network))
        return recordings[1:]

    with Show(network) as show:
        acts = Acts(show, {"some": data}, held_out=data, fit=fit)
        do(acts, "control", paused=True, next=2)
        asyncio.run(acts.load((tmp_path / "m.tsf").read_bytes()))
        assert fits[2:] == [("some", False), ("The held-out data", False)]
        assert (show.playback.number, show.playback.paused, len(show.playback.recordings)) == (2, True, len(data) - 1)
        assert show.playback.recordings is acts.files["some"]


def test_the_score_of_another_model_begins_with_its_own(acts, data, tmp_path):  # noqa: F811
    def scored():
        acts.state()
        acts._scoring.result(20)
        return acts.score

    before = scored()["before"]
    other = acts.show.session.network.twin(acts.show.session.network.snapshot())
    other.parameters[-1].centroids[:] = 0
    other.save(tmp_path / "o.tsf")
    asyncio.run(acts.load((tmp_path / "o.tsf").read_bytes()))
    found = scored()
    assert found["before"] == found["now"] != before


def test_a_network_that_adapts_is_scored_now_and_then_and_a_lesson_at_once(acts, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(acts_module.time, "monotonic", lambda: now[0])

    def scores():
        before = acts._scoring
        acts.show.view.version += 1
        acts.state()
        acts._scoring.result(20)
        return acts._scoring is not before

    assert scores()
    assert scores()
    acts.show.session.adapts = True
    assert not scores()
    now[0] += 10
    assert scores()


class Page:
    """A page that takes what it is sent, or does not."""

    def __init__(self):
        self.waits, self.transport, self.got = 0, self, []

    def get_write_buffer_size(self):
        return self.waits


def test_frames_that_a_slow_page_misses_are_counted_and_reported(acts, monkeypatch):
    slow, host = Page(), Host(acts)
    monkeypatch.setattr(host, "_send", lambda page, message: page.got.append(message))
    host._pages, host._skipped, host._reported = [slow], {slow: 0}, {slow: 0}
    asyncio.run(host._frame())
    slow.waits, slow.got = 1 << 20, []
    for _ in range(3):
        asyncio.run(host._frame())
    assert slow.got == []
    slow.waits = 0
    for _ in range(2):
        asyncio.run(host._frame())
    assert [message for message in slow.got if isinstance(message, str)] == ['{"skipped": 3}']
    assert len(slow.got) == 3


def test_the_score_is_that_of_known_classes_before_and_now(acts, data):  # noqa: F811
    network = acts.show.session.network  # noqa: F811
    assert acts._score_of(network) == network.evaluate(data)["recording_accuracy"]
    acts.held_out = data.with_labels(["0", "1", "2", "x", "y", "z"])
    assert acts._score_of(network) == network.evaluate(data[:3])["recording_accuracy"]
    acts._score(network)
    began = acts.score
    assert began == {"before": began["now"], "now": began["now"]}
    acts.held_out = data.with_labels(["1", "0", "3", "2", "5", "4"])
    acts._score(network)
    assert acts.score == {"before": began["now"], "now": acts._score_of(network)}
    acts.held_out = data.with_labels(list("uvwxyz"))
    assert acts._score_of(network) is None
    acts.held_out = None
    assert acts._score_of(network) is None
    acts.state()
    acts.held_out, acts.score = data, None
    acts.state()
    acts._scorer.shutdown()
    assert acts.score["now"] == network.evaluate(data)["recording_accuracy"]
