import numpy as np
import pytest

from timesurf import Full, Network, Recordings, SettingError, Tile, Window, plots
from timesurf.datasets import sentences
from timesurf.engines import Parameters
from timesurf.errors import NotFittedError
from timesurf.plots.network import picture, pixels
from timesurf.presets import SENTENCES


def made(layers, field, centroids, thresholds=None):
    """A network with these centroids."""
    network = Network(layers, field, 1, ["a", "b"])
    thresholds = thresholds or [np.ones(len(c)) for c in centroids]
    network.parameters = Parameters.of(centroids, thresholds)
    return network


def test_polarities_lie_side_by_side_with_a_gap(rng):
    c = rng.random((4, 3, 2))
    image = picture(c)
    np.testing.assert_array_equal(image[:, :4], c[:, :, 0].T)
    np.testing.assert_array_equal(image[:, 5:], c[:, :, 1].T)
    assert np.isnan(image[:, 4]).all()


def test_of_many_polarities_the_strongest_is_shown(rng):
    c = rng.random((4, 3, 9))
    np.testing.assert_array_equal(picture(c), c.max(axis=-1).T)


def test_a_line_is_place_by_polarity(rng):
    c = rng.random((6, 1, 9))
    np.testing.assert_array_equal(picture(c), c[:, 0].T)
    assert picture(rng.random(9)).shape == (9, 1)  # a point


def test_every_unit_is_drawn_on_one_scale(camera, watcher):
    ax = plots.centroids(watcher)
    c = watcher.parameters[0].centroids
    assert [cell.get_title() for cell in ax.child_axes] == list("123456")
    for cell, values in zip(ax.child_axes, c, strict=True):
        np.testing.assert_allclose(cell.images[0].get_array().filled(np.nan), picture(values))
        assert cell.images[0].get_clim() == (0, c.max())


def test_units_of_the_last_layer_bear_the_names_of_classes(reader):
    assert [cell.get_title() for cell in plots.centroids(reader, -1).child_axes] == list(sentences.TASK1)


def test_small_images_do_not_overlap(watcher):
    ax = plots.centroids(watcher, 1)
    ax.figure.canvas.draw()
    boxes = [cell.get_window_extent() for cell in ax.child_axes]
    assert len(boxes) == 8
    assert not any(a.overlaps(b) for n, a in enumerate(boxes) for b in boxes[:n])


def test_a_silent_unit_is_called_so(reader):
    network = Network(reader.layers, reader.field, 1, reader.classes)
    network.parameters = reader.snapshot()
    network.parameters[0].thresholds[1] = 0
    assert [cell.get_title() for cell in plots.centroids(network).child_axes] == ["1", "2 (silent)", "3"]
    ax = plots.thresholds(network)
    assert ax.lines[0].get_label() == "silent"
    assert ax.lines[0].get_xdata().tolist() == [2]


def test_tiles_go_back_to_pixels_side_by_side(rng):
    low, high = rng.random((2, 3, 2, 1)), np.array([[[[1.0, 0.0]], [[0.0, 0.5]]], [[[0.0, 0.0]], [[0.0, 1.0]]]])
    network = made([Tile((3, 2), units=2, tau=1), Full(tau=1)], (6, 2), [low, high])
    image = pixels(network, 1)
    first = np.concatenate([low[0], 0.5 * low[1]])
    np.testing.assert_allclose(image[0], first / first.max())
    np.testing.assert_allclose(image[1], np.concatenate([0 * low[1], low[1] / low[1].max()]))


def test_windows_go_back_to_pixels_around_their_place(rng):
    low, high = rng.random((2, 3, 1)), np.zeros((2, 5, 2))
    high[0, 2, 1] = 0.25  # unit 2 in the middle
    high[1, 0, 0] = 1  # unit 1 at the border: a third of it lies outside
    image = pixels(made([Window(3, units=2, tau=1), Full(tau=1)], (5,), [low, high]), 1)
    assert image.shape == (2, 5, 1)
    np.testing.assert_allclose(image[0, 1:4], low[1] / low[1].max())
    np.testing.assert_allclose(image[1, :2], low[0, 1:] / low[0, 1:].max())
    assert not image[0, [0, 4]].any()
    assert not image[1, 2:].any()


def test_layers_above_a_full_one_go_back_to_pixels_too(rng):
    c = [rng.random((3, 4, 1)), np.eye(3)[:2]]
    image = pixels(made([Full(units=3, tau=1), Full(tau=1)], (4,), c), 1)
    np.testing.assert_allclose(image, c[0][:2] / c[0][:2].max(axis=1, keepdims=True))


def test_words_go_back_to_three_characters(reader):
    ax = plots.centroids(reader, 1, back_to_pixels=True)
    assert {cell.images[0].get_array().shape for cell in ax.child_axes} == {(5, 15)}
    ax = plots.centroids(reader, 2, back_to_pixels=True)
    assert {cell.images[0].get_array().shape for cell in ax.child_axes} == {(5, 30)}


def test_thresholds_are_bars_and_open_ones_reach_the_top(reader):
    ax = plots.thresholds(reader, 1)
    np.testing.assert_allclose([bar.get_height() for bar in ax.patches], reader.parameters[1].thresholds)
    c = [np.zeros((2, 5, 1))]
    network = made([Full(tau=1)], (5,), c, [np.array([0.5, np.inf])])
    network.freeze(0, [0])
    ax = plots.thresholds(network)
    assert [bar.get_hatch() for bar in ax.patches] == ["///", None]
    assert ax.patches[1].get_height() == ax.get_ylim()[1]
    assert [name.get_text() for name in ax.get_xticklabels()] == ["a", "b"]


@pytest.mark.parametrize("draw", [plots.centroids, plots.thresholds])
def test_what_is_not_there_is_refused(text, reader, draw):
    with pytest.raises(SettingError, match="layer = -4 does not exist"):
        draw(reader, -4)
    with pytest.raises(NotFittedError):
        draw(SENTENCES.network(text, sentences.TASK1, 0))


def test_one_centroid_goes_into_the_ax_it_is_given(reader):
    ax = plots.figure(1, 1, (2, 2))[1][0, 0]
    assert plots.centroid(ax, reader, 0, 1) is ax
    np.testing.assert_array_equal(ax.images[0].get_array(), reader.parameters[0].centroids[1, :, :, 0].T)


def test_pixels_of_a_stream_without_places():
    one = Recordings([], t=[0, 5], p=[0, 1], field=(), polarities=2, labels=[0])
    network = Network([Full(units=2, tau=5), Full(tau=5)], (), 2, [0]).start(one, sample=1)
    assert pixels(network, 1).shape == (1, 2)
