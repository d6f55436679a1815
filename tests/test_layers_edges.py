"""Layers at their edges: where a neighbourhood begins, where output goes, what sizes are allowed."""

import pytest

from timesurf.errors import SettingError
from timesurf.layers import Full, Tile, Window, stack


def tile(*shape):
    return Tile(shape, units=1, tau=1)


@pytest.mark.parametrize(("size", "corner"), [(1, (4, 7)), (3, (3, 6)), (5, (2, 5)), (9, (0, 3))])
def test_a_window_reaches_as_far_to_both_sides_of_the_event(size, corner):
    assert Window(size, units=1, tau=1).corner((4, 7)) == corner


def test_a_window_may_begin_outside_the_field():
    assert Window(5, units=1, tau=1).corner((0,)) == (-2,)


def test_a_window_keeps_coordinates_and_field():
    window = Window(5, units=1, tau=1)
    assert (window.output((3, 4)), window.output_field((7, 8)), window.box((7, 8))) == ((3, 4), (7, 8), (5, 5))


@pytest.mark.parametrize(("x", "corner", "output"), [(0, 0, 0), (2, 0, 0), (3, 3, 1), (5, 3, 1), (6, 6, 2)])
def test_a_tile_is_the_block_that_the_event_falls_into(x, corner, output):
    assert tile(3).corner((x,)) == (corner,)
    assert tile(3).output((x,)) == (output,)


def test_every_side_of_a_tile_counts_for_its_own_dimension():
    assert tile(2, 5).corner((3, 7)) == (2, 5)
    assert tile(2, 5).output((3, 7)) == (1, 1)
    assert tile(2, 5).box((4, 10)) == (2, 5)


@pytest.mark.parametrize(("field", "blocks"), [(1, 1), (2, 1), (3, 1), (4, 2), (6, 2), (7, 3)])
def test_blocks_cover_the_field_to_its_end(field, blocks):
    assert tile(3).output_field((field,)) == (blocks,)


def test_the_side_of_a_tile_may_be_a_single_number():
    assert Tile(4, units=1, tau=1) == tile(4)


def test_a_list_of_sides_becomes_a_tuple():
    assert hash(Tile([2, 3], units=1, tau=1)) == hash(tile(2, 3))


@pytest.mark.parametrize("make", [lambda **k: Window(3, **k), lambda **k: Tile((3,), **k), Full])
def test_every_kind_of_layer_reads_times_as_text(make):
    layer = make(units=2, tau="2 ms", feedback_tau="5 us")
    assert (layer.tau, layer.feedback_tau) == (2000, 5)
    assert make(units=2, tau="2 ms").feedback_tau == 2000


@pytest.mark.parametrize("make", [lambda **k: Window(3, **k), lambda **k: Tile((3,), **k), Full])
def test_every_kind_of_layer_refuses_sizes_that_are_not_whole(make):
    for units in (0, -1, 2.0, "3"):
        with pytest.raises(SettingError, match="units"):
            make(units=units, tau=1)


def test_one_is_the_smallest_size():
    (stage,) = stack([Window(1, units=1, tau=1)], (1,), 1)
    assert (stage.units, stage.surface_shape) == (1, (1, 1))


def test_full_sees_the_whole_field_from_its_first_entry():
    full = Full(units=1, tau=1)
    assert (full.corner((3, 4)), full.box((7, 8)), full.output((3, 4)), full.output_field((7, 8))) == (
        (0, 0), (7, 8), (), (),
    )  # fmt: skip


def test_the_units_of_a_layer_are_the_polarities_of_the_next():
    stages = stack([Window(3, units=4, tau=1), Tile((2,), units=5, tau=1), Full(units=6, tau=1)], (8,), 2)
    assert [stage.polarities for stage in stages] == [2, 4, 5]
    assert [stage.units for stage in stages] == [4, 5, 6]
    assert [stage.field for stage in stages] == [(8,), (8,), (4,)]


def test_the_last_layer_without_units_gets_one_per_class():
    assert stack([Window(3, units=4, tau=1), Full(tau=1)], (8,), 1, classes=3)[-1].units == 3


def test_the_last_layer_may_name_as_many_units_as_there_are_classes():
    assert stack([Full(units=3, tau=1)], (8,), 1, classes=3)[-1].units == 3


def test_a_hidden_layer_needs_not_have_one_unit_per_class():
    assert stack([Full(units=7, tau=1), Full(tau=1)], (8,), 1, classes=3)[0].units == 7


def test_a_hidden_layer_without_units_is_refused_even_where_classes_are_known():
    with pytest.raises(SettingError, match="layer 1"):
        stack([Full(tau=1), Full(tau=1)], (8,), 1, classes=3)


def test_the_last_layer_without_units_is_refused_where_classes_are_unknown():
    with pytest.raises(SettingError, match="layer 2"):
        stack([Full(units=2, tau=1), Full(tau=1)], (8,), 1)


def test_a_tile_of_other_dimensions_than_its_field_is_refused_in_every_layer():
    with pytest.raises(SettingError, match="dimensions"):
        stack([Window(3, units=2, tau=1), tile(3, 3), Full(units=2, tau=1)], (8,), 1)


def test_a_stage_keeps_both_time_constants_of_its_layer():
    (stage,) = stack([Full(units=2, tau=3, feedback_tau="4 us")], (8,), 1)
    assert (stage.tau, stage.feedback_tau) == (3.0, 4.0)


@pytest.mark.parametrize(("field", "polarities", "name"), [((0,), 1, "field"), ((3,), 0, "polarities")])
def test_an_empty_field_is_refused(field, polarities, name):
    with pytest.raises(SettingError, match=name):
        stack([Full(units=2, tau=1)], field, polarities)


@pytest.mark.parametrize(("each", "needed"), [(1, "needs one per class"), (2, "needs units_per_class = 2 times the")])
def test_a_last_layer_of_the_wrong_size_is_told_what_it_needs(each, needed):
    with pytest.raises(SettingError, match=f"7 units for 3 classes: it {needed}"):
        stack([Full(units=7, units_per_class=each, tau=1)], (2,), 1, 3)
