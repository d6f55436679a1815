"""How a layer lies on the card, from its geometry alone."""

from itertools import product

import numpy as np
import pytest

from timesurf import Full, SettingError, Tile, Window
from timesurf.engines.cuda.blocks import covers as blocks_cover
from timesurf.engines.cuda.deep import covers as deep_covers
from timesurf.engines.cuda.general import plan
from timesurf.engines.cuda.layout import layout
from timesurf.layers import Stage, stack

LAYERS = [
    (Window(3, units=2, tau=1), (4, 5)),
    (Window(5, units=2, tau=1), (1, 3)),
    (Tile((2, 4), units=2, tau=1), (5, 8)),
    (Tile((5, 5), units=2, tau=1), (30, 5)),
    (Full(units=2, tau=1), (4, 5)),
    (Full(units=2, tau=1), ()),
    (Window(3, units=2, tau=1, stride=3), (7, 5)),
    (Window(3, units=2, tau=1, stride=(4, 1)), (3, 5)),
    (Window(3, units=2, tau=1, stride="field"), (7, 5)),
    (Window(3, units=2, tau=1), (2, 3, 4)),
]


def placed(layer, field, polarities=2):
    return Stage(layer, layer.units, (1.0,), 1.0, field, polarities)


@pytest.mark.parametrize(("layer", "field"), LAYERS, ids=lambda of: str(of)[:20])
def test_corner_steps_and_output_are_the_layers_own(layer, field):
    """As the kernels compute them, for every place of the field."""
    stage = placed(layer, field)
    lies = layout(stage)
    padded = np.full((*lies.padded, stage.polarities), -1)
    inside = tuple(slice(pad, pad + n) for pad, n in zip(lies.pad, field, strict=True))
    padded[inside] = np.arange(np.prod(field, dtype=int) * stage.polarities).reshape(*field, stage.polarities)
    for x in product(*map(range, field)):
        corner = sum((v - v % c) * s for v, c, s in zip(x, lies.cell, lies.stride, strict=True) if c)
        begin, side = layer.corner(x), layer.box(field)
        expected = np.full((*side, stage.polarities), -1)
        for j in product(*map(range, side)):
            place = tuple(b + i for b, i in zip(begin, j, strict=True))
            if all(0 <= v < n for v, n in zip(place, field, strict=True)):
                numbers = np.ravel_multi_index(place, field) if field else 0
                expected[j] = numbers * stage.polarities + np.arange(stage.polarities)
        np.testing.assert_array_equal(padded.ravel()[corner + lies.steps], expected.ravel())
        out = tuple(v // s for v, s in zip(x, lies.out_stride, strict=True))[: len(lies.out)]
        assert out == layer.output(x)
    assert lies.out == stage.output_field


def test_windows_divide_by_one_and_tiles_by_their_sides():
    assert layout(placed(Window(3, units=2, tau=1), (4, 5))).out_stride == (1, 1)
    assert layout(placed(Tile((2, 4), units=2, tau=1), (5, 8))).out_stride == (2, 4)


def test_pooled_outputs_take_the_fast_paths():
    first, between = Window(3, units=4, tau=1, stride=2), Window(3, units=4, tau=1, stride="field")
    pooled = stack([first, Full(tau=1)], (8, 8), 1, classes=3)
    assert blocks_cover(pooled, learn=True)
    assert deep_covers(stack([first, between, Full(tau=1)], (8, 8), 1, classes=3))
    assert "{4, 4}, {2, 2}}" in plan(pooled).source  # out and out_stride of the first layer


def test_places_at_unequal_distances_are_refused():
    class Uneven(Window):
        def output(self, x):
            return tuple(v * v // 4 for v in x)

    with pytest.raises(SettingError, match="equal distances"):
        layout(placed(Uneven(3, units=2, tau=1), (6, 6)))
