"""How much each entry of a layer's surfaces matters, from recordings: the weights of errors when scales are chosen."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf.engines.cpu.geometry import geometry
from timesurf.events import Recordings
from timesurf.export.plan import LayerPlan
from timesurf.inference import check_input
from timesurf.network import Network

Array = NDArray[Any]
_EVENTS = 1 << 18  # to look at, at most
_NUMBERS = 1 << 22  # of surfaces, at most


def usages(network: Network, plans: list[LayerPlan], recordings: Recordings) -> list[Array]:
    """The usage of the entries of each layer: their mean square, or how often they fire where surfaces are not written.

    Parameters
    ----------
    network : Network
        That is exported.
    plans : list of LayerPlan
        Its layers.
    recordings : Recordings
        To calibrate with; a bounded number of them is used, spread over all.

    Returns
    -------
    list of array
        One per layer, (entries,).
    """
    check_input(network.stages, recordings)
    found = []
    for k, plan in enumerate(plans):
        some = _some(recordings, _EVENTS if plan.running else _NUMBERS // plan.entries)
        if plan.running:
            found.append(_fired(network, plan, some, k))
        else:
            surfaces = network.surfaces(some, k).reshape(-1, plan.entries)
            found.append(np.square(surfaces).mean(axis=0) if len(surfaces) else np.ones(plan.entries))
    return found


def _fired(network: Network, plan: LayerPlan, recordings: Recordings, k: int) -> Array:
    """How often each entry fires."""
    below = recordings if k == 0 else network.transform(recordings, k - 1)
    place, p = np.divmod(below.entries(), plan.stage.polarities)
    return np.bincount((geometry(plan.stage).own[place] + p) % plan.entries, minlength=plan.entries).astype(float)


def _some(recordings: Recordings, events: int) -> Recordings:
    """Recordings with about so many events, spread over all."""
    share = events / max(int(recordings.counts.sum()), 1)
    number = int(np.clip(share * len(recordings), 1, len(recordings)))
    return recordings[np.linspace(0, len(recordings) - 1, number).round().astype(np.int64)]
