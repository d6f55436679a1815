"""How a batch is dealt out to lanes, which can run side by side, and how their sums are added up.

Which recording goes to which lane depends on the batch alone, and lanes are added in a fixed tree, so results are
bit-identical for any number of threads. The same holds for any number of workers, each of which runs some lanes and
adds up the nodes of the tree whose lanes it has all run.
"""

from __future__ import annotations

import numpy as np

from timesurf.engines.data import Array

Node = tuple[int, int]  # of the tree: from this lane to before that one

_EVENTS_PER_LANE = 1 << 14  # with fewer, adding up a lane's sums costs more than it saves
MOST = 16


def deal(counts: Array, most: int = MOST) -> list[Array]:
    """Recordings for each lane: longest first, always to the lane with the fewest events.

    Examples
    --------
    >>> [lane.tolist() for lane in deal(np.array([9, 5, 4, 3, 3]) * 10_000, most=3)]
    [[0], [1, 4], [2, 3]]

    """
    lanes = int(np.clip(counts.sum() // _EVENTS_PER_LANE, 1, min(most, len(counts))))
    loads = np.zeros(lanes, dtype=np.int64)
    dealt: list[list[int]] = [[] for _ in range(lanes)]
    for r in np.argsort(-counts, kind="stable"):
        lane = int(loads.argmin())
        loads[lane] += counts[r]
        dealt[lane].append(int(r))
    return [np.array(sorted(lane), dtype=np.int64) for lane in dealt]


def add_up(arrays: list[Array]) -> None:
    """Add all to the first, in the order of the tree: neighbours, then neighbours of those, and so on.

    Examples
    --------
    >>> lanes = [np.array([v]) for v in (1.0, 2.0, 3.0, 4.0, 5.0)]
    >>> add_up(lanes)
    >>> lanes[0]
    array([15.])

    """
    step = 1
    while step < len(arrays):
        for i in range(0, len(arrays) - step, 2 * step):
            arrays[i] += arrays[i + step]  # in place
        step *= 2


def nodes(lanes: int, first: int, last: int) -> list[Node]:
    """The largest nodes of the tree over so many lanes that lie within those from `first` to before `last`.

    Examples
    --------
    >>> nodes(8, 0, 4), nodes(8, 3, 8)
    ([(0, 4)], [(3, 4), (4, 8)])

    """

    def within(a: int, b: int) -> list[Node]:
        if first <= a and b <= last:
            return [(a, b)]
        if b <= first or last <= a:
            return []
        return [*within(a, middle(a, b)), *within(middle(a, b), b)]

    return within(0, lanes)


def middle(a: int, b: int) -> int:
    """Where the two children of a node meet: after as many lanes as the largest power of two below their number.

    Examples
    --------
    >>> middle(0, 8), middle(0, 5), middle(4, 7)
    (4, 4, 6)

    """
    return a + (1 << ((b - a - 1).bit_length() - 1))
