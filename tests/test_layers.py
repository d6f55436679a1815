import numpy as np
import pytest

from timesurf.errors import SettingError
from timesurf.layers import Full, Tile, Window, stack
from timesurf.times import microseconds


def test_times_may_be_text_or_microseconds():
    assert Window(3, units=2, tau="1.5 ms") == Window(3, units=2, tau=1500)
    assert Full(tau="1 us").feedback_tau == 1  # the same as tau unless it is given


@pytest.mark.parametrize("bad", ["", "ms", "1 lightyear", "-3 ms", 0, -1, float("nan"), float("inf"), None, "1..2 ms"])
def test_bad_times_are_refused(bad):
    with pytest.raises(ValueError, match="tau"):
        microseconds(bad, "tau")


def test_the_papers_sentence_network():
    layers = [Tile((5, 5), units=3, tau=1), Tile((3, 1), units=6, tau=1), Full(tau=1)]
    stages = stack(layers, (30, 5), 1, classes=2)
    assert [stage.surface_shape for stage in stages] == [(5, 5, 1), (3, 1, 3), (2, 1, 6)]
    assert [stage.output_field for stage in stages] == [(6, 1), (2, 1), ()]


def test_a_tile_may_reach_beyond_the_field():
    assert Tile((3,), units=1, tau=1).output_field((7,)) == (3,)


def test_layers_above_a_layer_without_coordinates():
    stages = stack([Full(units=3, tau=1), Window(3, units=2, tau=1), Full(units=2, tau=1)], (4, 4), 1)
    assert [stage.surface_shape for stage in stages] == [(4, 4, 1), (3,), (2,)]


def test_one_time_constant_in_a_list_is_that_time_constant():
    assert Full(tau=["1 ms"]) == Full(tau=1000)


def test_several_time_constants_keep_their_order_and_give_the_surface_a_dimension():
    layer = Full(tau=["10 ms", 40_000, "2.5 ms"])
    (stage,) = stack([layer], (8, 4), 2, classes=3)
    assert stage.taus == layer.tau == (10_000, 40_000, 2500)
    assert stage.tau == stage.feedback_tau == layer.feedback_tau == 40_000  # the longest
    assert stage.surface_shape == (8, 4, 2, 3)
    assert str(stage) == "Full: 3 units over 8 x 4 x 2 x 3, tau 10, 40 and 2.5 ms"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Window(4, units=2, tau=1), "odd"),
        (lambda: Window(3, units=0, tau=1), "units"),
        (lambda: Window(3.5, units=2, tau=1), "size"),
        (lambda: Tile((0, 5), units=2, tau=1), "Tile shape"),
        (lambda: stack([], (3,), 1), "at least one layer"),
        (lambda: stack([Window(3, tau=1), Full(units=2, tau=1)], (3,), 1), "layer 1 .Window. needs units"),
        (lambda: stack([Tile((3,), units=2, tau=1)], (3, 3), 1), "dimensions"),
        (lambda: stack([Full(units=2, tau=1)], (3,), 1, classes=3), "2 units for 3 classes"),
        (lambda: stack(["Window"], (3,), 1), "use Window, Tile or Full"),
        (lambda: Full(tau=(1, "1 us")), "all must be different"),
        (lambda: Full(tau=()), "give 1 to 16"),
        (lambda: Full(tau=list(range(1, 18))), "give 1 to 16"),
        (lambda: Full(tau=(1, 0)), "positive"),
        (lambda: Full(tau=(1, (2, 3))), "tau"),
        (lambda: Window(3, units=2, tau=(1, 2)), "only Full takes several"),
        (lambda: Tile((3,), units=2, tau=[1]), "only Full takes several"),
        (lambda: stack([Full(units=2, tau=list(range(1, 17)))], (2**14, 2**13), 1), "at 16 time constants"),
    ],
)
def test_impossible_networks_are_refused(make, message):
    with pytest.raises(SettingError, match=message):
        make()


def test_sizes_of_any_integer_type_become_python_integers():
    (stage,) = stack([Window(np.int8(3), units=True, tau=1)], field=np.array([5, 5]), polarities=np.uint8(2))
    assert all(type(n) is int for n in (stage.units, *stage.surface_shape, *stage.output_field))
