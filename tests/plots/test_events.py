import numpy as np
import pytest

from timesurf import EventError, Recordings, SettingError, plots
from timesurf.datasets import sentences
from timesurf.errors import NotFittedError
from timesurf.plots.style import figure
from timesurf.presets import SENTENCES

LINE = Recordings([[0, 4, 2]], t=[1000, 2000, 4000], field=(5,))


def points(ax):
    """What each cloud of points is called, and how many it has."""
    return {cloud.get_label(): len(cloud.get_offsets()) for cloud in ax.collections}


def test_events_of_a_camera_lie_in_three_dimensions_by_polarity(camera):
    ax = plots.space_time(camera[0])
    p = camera[0].p
    assert ax.name == "3d"
    assert points(ax) == {f"polarity {n}": (p == n).sum() for n in (0, 1)}
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_zlabel()) == ("ms", "x", "y")
    assert ax.get_zlim()[0] > ax.get_zlim()[1]  # y down, as in an image


def test_events_of_a_line_lie_flat_and_time_begins_at_zero():
    ax = plots.space_time(LINE)
    assert ax.name == "rectilinear"
    np.testing.assert_array_equal(ax.collections[0].get_offsets(), [[0, 0], [1, 4], [3, 2]])
    assert ax.get_legend() is None  # one polarity needs none


def test_a_flat_ax_shows_a_camera_by_x(camera):
    ax = figure(1, 1, (4, 3))[1][0, 0]
    assert plots.space_time(camera[0], ax) is ax
    assert sum(points(ax).values()) == 300


def test_events_without_a_place_are_shown_by_polarity():
    ax = plots.space_time(Recordings([], t=[0, 1000], p=[2, 0], field=(), polarities=3))
    assert ax.get_ylabel() == "polarity"
    assert sorted(y for cloud in ax.collections for y in cloud.get_offsets()[:, 1]) == [0, 2]


def test_many_polarities_have_a_scale_in_place_of_a_legend(camera, watcher):
    ax = plots.space_time(watcher.transform(camera[0], 1))
    assert ax.get_legend() is None
    assert len(ax.figure.axes) == 2


def test_kept_and_rejected_add_up(camera, watcher):
    passed = watcher.trace(camera[0]).passed
    assert 0 < (passed == 1).sum() < 300
    ax = plots.kept(watcher, camera[0], 1)
    counts = points(ax)
    assert sum(counts.values()) == 300
    assert {name.split(" (")[0]: n for name, n in counts.items()} == {
        "rejected": (passed == 1).sum(),
        "kept": (passed > 1).sum(),
    }
    assert f"layer 2 keeps {(passed > 1).mean():.0%} of 300 events" in ax.get_title()
    assert any("rejected below" in name for name in points(plots.kept(watcher, camera[0], -1)))


@pytest.mark.parametrize("k", [0, 1, 2])
def test_a_surface_is_what_the_layer_sees(camera, watcher, k):
    reached = np.flatnonzero(watcher.trace(camera[0]).passed >= k)
    row = len(reached) * 2 // 3
    ax = plots.surface(watcher, camera[0], int(reached[row]), k)
    expected = plots.network.picture(watcher.surfaces(camera[0], k)[row])
    np.testing.assert_allclose(ax.images[0].get_array().filled(np.nan), expected, atol=1e-6)


def test_a_surface_that_no_layer_sees_is_refused(camera, watcher):
    event = int(np.flatnonzero(watcher.trace(camera[0]).passed == 1)[0])
    with pytest.raises(EventError, match=f"event {event} does not reach layer 3: layer 2 rejects it"):
        plots.surface(watcher, camera[0], event, 2)
    with pytest.raises(EventError, match="event = 300 does not exist: this recording has events 0 to 299"):
        plots.surface(watcher, camera[0], 300)


@pytest.mark.parametrize("draw", [plots.kept, plots.separability, plots.decision])
def test_what_cannot_be_drawn_is_refused(text, reader, draw):
    with pytest.raises(EventError, match="30 recordings: a picture shows one"):
        draw(reader, text)
    with pytest.raises(EventError, match="has no events"):
        draw(reader, Recordings([[], []], t=[], field=(30, 5)))
    with pytest.raises(EventError, match="A recording is needed, not list"):
        draw(reader, [1, 2])
    with pytest.raises(NotFittedError, match="no centroids yet"):
        draw(SENTENCES.network(text, sentences.TASK1, 0), text[0])


@pytest.mark.parametrize("draw", [plots.kept, plots.separability])
def test_a_layer_that_is_not_there_is_refused(text, reader, draw):
    with pytest.raises(SettingError, match="layer = 3 does not exist: this network has layers 0 to 2"):
        draw(reader, text[0], 3)
