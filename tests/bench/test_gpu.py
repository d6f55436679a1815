"""What the benchmark of a GPU compares with; the GPU itself is measured where there is one."""

import numpy as np

from timesurf import Full, Network, Window
from timesurf.bench import gpu, workloads
from timesurf.engines import pack, reference

DATA = workloads.strokes(4, events=60, field=(8, 8), polarities=2)


def test_a_gap_is_what_the_reference_would_measure():
    layers = [Window(3, units=4, tau=20_000), Window(3, units=3, tau=20_000), Full(tau=5000)]
    network = Network(layers, DATA.field, 2, range(10)).start(DATA, zeta=0.9, margin=0.8)
    batch = pack(DATA)
    trace = reference.infer(network.stages, network.parameters, batch, trace=True).trace
    assert 0 < (trace.passed == 3).mean() < 1
    for layer, c in enumerate([u.centroids for u in network.parameters]):
        surfaces = reference.surfaces(network.stages, network.parameters, batch, layer)
        reached = np.flatnonzero(trace.passed >= layer)
        for row in (0, len(reached) // 2, len(reached) - 1):
            distance = np.linalg.norm((surfaces[row] - c).reshape(len(c), -1), axis=1)
            gaps = [gpu.gap(network, batch, trace, reached[row], layer, unit) for unit in range(len(c))]
            np.testing.assert_allclose(gaps, distance - distance.min(), atol=1e-12)
