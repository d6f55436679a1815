"""The tables of a layer lead to the same neighbourhoods and outputs as the layer itself."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.random_networks import networks
from timesurf.engines import reference
from timesurf.engines.cpu.geometry import geometry
from timesurf.layers import stack


@given(st.data())
@examples(50)
def test_tables_lead_where_the_layer_says(data):
    field = tuple(data.draw(st.lists(st.integers(1, 7), min_size=1, max_size=3)))
    for stage in stack(data.draw(networks(field)), field, data.draw(st.integers(1, 3))):
        tables = geometry(stage)
        T = np.random.default_rng(0).random((*stage.field, stage.polarities))
        context = np.full(tables.context, -np.inf)
        for location, x in enumerate(np.ndindex(stage.field)):
            context[tables.own[location] :][: stage.polarities] = T[x]
        for location, x in enumerate(np.ndindex(stage.field)):
            begins = tables.start[location] + tables.runs
            surface = np.concatenate([context[begin : begin + tables.row] for begin in begins])
            np.testing.assert_array_equal(surface, reference.neighbourhood(stage, T, x).ravel())
            assert np.unravel_index(tables.out[location], stage.output_field or (1,)) == (stage.layer.output(x) or (0,))


@given(st.data())
@examples(50)
def test_a_location_lies_in_the_block_of_its_neighbourhood(data):
    field = tuple(data.draw(st.lists(st.integers(1, 7), min_size=1, max_size=3)))
    for stage in stack(data.draw(networks(field)), field, 1):
        tables = geometry(stage)
        entries = len(tables.runs) * tables.row
        if not stage.layer.overlaps:
            np.testing.assert_array_equal(tables.start, tables.block * entries)
            assert tables.context == (tables.block.max() + 1) * entries
