"""Many networks of one shape, trained side by side on the same events: for searches, and for tables of ten networks.

One batch of recordings leaves most of a large GPU idle; a hundred settings at a time fill it. Each network becomes what
it would have become alone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from timesurf.engines import TakesPass, choose
from timesurf.errors import DivergedError, SettingError
from timesurf.events import Recordings
from timesurf.learning.divergence import check_sane
from timesurf.learning.schedule import Schedule
from timesurf.learning.state import Trainee
from timesurf.learning.trainer import Report, passes, shuffler, side_by_side, turns


def train(
    networks: Sequence[Trainee],
    recordings: Recordings | Sequence[Recordings],
    *,
    passes: int = 6,
    batch_size: int,
    decay: bool = False,
    keep: float | None = None,
    progress: Report | None = None,
) -> list[str | None]:
    """Train each network as `Network.train` would, side by side where the engine can, else one after another.

    Parameters
    ----------
    networks : sequence of Network
        Started, of one shape and on one engine. Time constants, rules and seeds may differ.
    recordings : Recordings or sequence of Recordings
        For all networks, or one for each: equally many recordings, all selected from one `Recordings`.
    passes, batch_size, decay, keep
        As in `Network.train`.
    progress : callable, optional
        Called with a `Progress` after each batch.

    Returns
    -------
    list of str or None
        For each network the reason why its training diverged, None if it did not. The others continue.
    """
    own = [recordings] * len(networks) if isinstance(recordings, Recordings) else list(recordings)
    if len(own) != len(networks) or not networks:
        raise SettingError(f"{len(own)} selections of recordings for {len(networks)} networks: one each is needed.")
    _check_alike(networks)
    schedule = Schedule(passes, batch_size, decay, keep)
    engine = choose(networks[0].engine, networks[0].stages)
    if not isinstance(engine, TakesPass):
        return [
            _why_diverged(partial(_alone, network, some, schedule, progress))
            for network, some in zip(networks, own, strict=True)
        ]
    rules = [network.rule for network in networks]
    each = [turns(network, some, schedule, shuffler(network)) for network, some in zip(networks, own, strict=True)]
    for group in zip(*each, strict=True):
        figures = side_by_side(engine, group, rules, schedule, networks[0].options, progress)
        for network, of in zip(networks, figures, strict=True):
            network.history.append(of)
    return [_why_diverged(partial(check_sane, network.parameters)) for network in networks]


def _alone(network: Trainee, recordings: Recordings, schedule: Schedule, progress: Report | None) -> None:
    deque(passes(network, recordings, schedule, shuffler(network), progress=progress), maxlen=0)


def _why_diverged(call: Callable[[], Any]) -> str | None:
    try:
        call()
    except DivergedError as error:
        return str(error)
    return None


def _check_alike(networks: Sequence[Trainee]) -> None:
    def shape(network: Trainee) -> tuple[Any, ...]:
        stages = [
            (type(s.layer), s.surface_shape, s.units, s.field, s.output_field, s.units_per_class)
            for s in network.stages
        ]
        return network.engine, network.options.dtype, *stages

    for number, network in enumerate(networks):
        if shape(network) != shape(networks[0]):
            raise SettingError(
                f"network {number} differs from the first in shape or engine: side by side they must be alike."
            )
