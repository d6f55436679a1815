"""Surfaces of some events times all centroids of a layer, in float32, for `ahead.py`.

BLAS copies the centroids to the order that it wants in every call, and divides large products among threads. A packet
of a stream has few events, so that took longer than the product itself. Here the centroids are put into that order
once per packet, in panels of 16 units, and one core goes through them for six events at a time, whose sums stay in
registers.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from timesurf.engines.cpu import emit
from timesurf.engines.cpu.emit import F32
from timesurf.engines.cpu.vector import VECTOR

ROWS = 6  # events whose sums of 16 units fit in the registers of any processor with vectors of 8


@intrinsic
def multiply(typing_context, rows, many, entries, panels, lanes, products):
    """products[b lanes + u] = sum over j of rows[b entries + j] panels[(u - u % 16) entries + 16 j + u % 16].

    For every lane u, and for rows b from 0 to `many`, or beyond: to the next multiple of `ROWS`. Lanes fill vectors.
    """

    def build(target, builder, signature, arguments):
        rows, many, entries, panels, lanes, products = arguments
        args, index = signature.args, lanes.type

        def panel_by_panel(first, width, vectors):
            """These units of every row."""
            panel = [builder.mul(builder.add(first, index(v * width)), entries) for v in range(vectors)]
            with cgutils.for_range_slice(builder, index(0), many, index(ROWS)) as (b0, _):
                events = [builder.add(b0, index(b)) for b in range(ROWS)]
                corners = [builder.mul(b, entries) for b in events]
                sums = [[cgutils.alloca_once(builder, ir.VectorType(F32, width)) for _ in panel] for _ in events]
                for total in (one for of_event in sums for one in of_event):
                    builder.store(emit.zeros(width), total)
                with cgutils.for_range(builder, entries) as entry:
                    j = builder.mul(entry.index, index(width))
                    units = [
                        builder.load(emit.vector(target, builder, args[3], panels, builder.add(here, j)), align=4)
                        for here in panel
                    ]
                    for corner, of_event in zip(corners, sums, strict=True):
                        place = emit.at(target, builder, args[0], rows, builder.add(corner, entry.index))
                        value = emit.all(builder, builder.load(place), width)
                        for total, c in zip(of_event, units, strict=True):
                            builder.store(emit.multiply_add(builder, value, c, builder.load(total)), total)
                for b, of_event in zip(events, sums, strict=True):
                    for v, total in enumerate(of_event):
                        place = builder.add(builder.mul(b, lanes), builder.add(first, index(v * width)))
                        to = emit.vector(target, builder, args[5], products, place)
                        builder.store(builder.load(total), to, align=4)

        two = ((VECTOR, 2),) if emit.wide() else ()
        emit.over_lanes(builder, lanes, panel_by_panel, (*two, (VECTOR, 1)))
        return target.get_dummy_value()

    return types.void(rows, types.intp, types.intp, panels, types.intp, products), build
