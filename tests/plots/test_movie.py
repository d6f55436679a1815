import numpy as np
import pytest
from matplotlib import rcParams
from PIL import Image

from timesurf import EventError, Recordings, SettingError, plots
from timesurf.plots.movie import _Board, _Screen
from timesurf.plots.style import BLUE, figure


def test_a_gif_has_a_frame_for_each_moment(tmp_path, text, reader):
    path = plots.animate(reader, text[1], tmp_path / "a.gif", seconds=0.5, fps=10)
    with Image.open(path) as film:
        assert film.n_frames == 5
        assert film.info["duration"] == 100  # ms
        assert film.size == (800, 400)
    assert [file.name for file in tmp_path.iterdir()] == ["a.gif"]


def test_kept_events_light_up_blue_and_fade(camera, watcher):
    recording = camera[0]
    kept = np.arange(300) == 0
    screen = _Screen(figure(1, 1, (3, 3))[1][0, 0], recording, kept, seconds=1)
    t = float(recording.t[0])
    screen.show(t, 1)
    x, y = (int(v[0]) for v in recording.coords)
    fresh = screen.image.get_array()[y, x]
    np.testing.assert_allclose(fresh, [int(BLUE[i : i + 2], 16) / 255 for i in (1, 3, 5)], atol=1e-6)
    screen.show(t + 1e7, 1)
    np.testing.assert_allclose(screen.image.get_array(), 1, atol=1e-6)  # white again


def test_bars_end_at_the_votes(camera, watcher):
    board = _Board(figure(1, 1, (3, 3))[1][0, 0], watcher, camera[3])
    assert board.ax.get_title() == "no decision yet"
    board.show(300)
    votes = watcher.infer(camera[3]).votes[0]
    np.testing.assert_allclose([bar.get_width() for bar in board.bars], votes / votes.sum())
    assert board.ax.get_title() == f"decision: {votes.argmax()}"
    assert board.ax.get_yticklabels()[3].get_text() == "3 (true)"


def test_an_mp4_needs_ffmpeg(tmp_path, text, reader, monkeypatch):
    monkeypatch.setitem(rcParams, "animation.ffmpeg_path", str(tmp_path / "none"))
    with pytest.raises(SettingError, match=r"needs ffmpeg, which is not found. Install it, or write a .gif"):
        plots.animate(reader, text[0], tmp_path / "a.mp4")
    assert not list(tmp_path.iterdir())


def test_an_mp4_is_what_ffmpeg_makes_of_the_frames(tmp_path, text, reader, monkeypatch):
    program = tmp_path / "ffmpeg"
    program.write_text(
        '#!/bin/sh\nfor last; do :; done\nexec cat > "$last"\n', encoding="utf-8"
    )  # keeps the frames as they come
    program.chmod(0o755)
    monkeypatch.setitem(rcParams, "animation.ffmpeg_path", str(program))
    path = plots.animate(reader, text[0], tmp_path / "a.MP4", seconds=0.2, fps=10)
    assert path.stat().st_size == 2 * 800 * 400 * 4


def test_what_cannot_be_filmed_is_refused(tmp_path, text, reader):
    with pytest.raises(SettingError, match=r"an animation is a .gif or an .mp4"):
        plots.animate(reader, text[0], tmp_path / "a.avi")
    with pytest.raises(SettingError, match=r"fps = 0 must be positive"):
        plots.animate(reader, text[0], tmp_path / "a.gif", fps=0)
    with pytest.raises(SettingError, match="layer = 7 does not exist"):
        plots.animate(reader, text[0], tmp_path / "a.gif", layer=7)
    with pytest.raises(EventError, match="30 recordings"):
        plots.animate(reader, text, tmp_path / "a.gif")
    with pytest.raises(FileNotFoundError, match="its folder does not exist"):
        plots.animate(reader, text[0], tmp_path / "none" / "a.gif")


def test_fields_of_any_dimension_can_be_filmed():
    for field in ((), (4,), (4, 3, 2)):
        coords = [[0, n - 1] for n in field]
        few = Recordings(coords, t=[0, 10], p=[0, 1], field=field, polarities=2)
        screen = _Screen(figure(1, 1, (3, 3))[1][0, 0], few, np.array([True, False]), seconds=1)
        screen.show(10.0, 2)
        lit = (screen.image.get_array() < 1).any(axis=-1)
        assert lit.any()
