"""Many networks of one shape, trained side by side on the same events: for searches, and for tables of ten networks.

A batch of recordings leaves most of a large GPU idle; a hundred settings at a time fill it. What comes out is what each
network would have become alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from timesurf import engines
from timesurf.errors import DivergedError, SettingError
from timesurf.events import Recordings
from timesurf.learning.trainer import Progress, Schedule, check_sane, side_by_side
from timesurf.network import Network


def train(
    networks: Sequence[Network],
    recordings: Recordings | Sequence[Recordings],
    *,
    passes: int = 6,
    batch_size: int,
    decay: bool = False,
    keep: float | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> list[str | None]:
    """Train each network as `Network.train` would, all at a time where the engine can, else one after another.

    Of each, why it was lost on the way, if its settings led it nowhere: the others go on. None: it was not.

    networks : started, of one shape and on one engine; time constants, rules and seeds are each one's own
    recordings : for all of them, or for each its own: equally many, and all selected from one `Recordings`
    """
    own = [recordings] * len(networks) if isinstance(recordings, Recordings) else list(recordings)
    if len(own) != len(networks) or not networks:
        raise SettingError(f"{len(own)} selections of recordings for {len(networks)} networks: one each is needed.")
    _check_alike(networks)
    engine: Any = engines.load(networks[0].engine)
    if not hasattr(engine, "learn_pass"):
        settings: dict[str, Any] = {"batch_size": batch_size, "decay": decay, "keep": keep}
        alone = (
            partial(network.train, some, passes=passes, progress=progress, **settings)
            for network, some in zip(networks, own, strict=True)
        )
        return [_why_lost(train_one) for train_one in alone]
    shufflers = [network.shuffler() for network in networks]
    for n in range(passes):
        learners = [
            network.learner(some[shuffler.permutation(len(some))])
            for network, some, shuffler in zip(networks, own, shufflers, strict=True)
        ]
        schedule = Schedule(n * len(own[0]), passes * len(own[0]), batch_size, decay, keep)
        rules = [network.rule for network in networks]
        figures = side_by_side(engine, learners, rules, schedule, networks[0].options, progress)
        for network, of in zip(networks, figures, strict=True):
            network.history.append(of)
    return [_why_lost(partial(check_sane, network.parameters)) for network in networks]


def _why_lost(call: Callable[[], Any]) -> str | None:
    try:
        call()
    except DivergedError as error:
        return str(error)
    return None


def _check_alike(networks: Sequence[Network]) -> None:
    def shape(network: Network) -> tuple[Any, ...]:
        stages = [(type(s.layer), s.surface_shape, s.units, s.field) for s in network.stages]
        return network.engine, network.dtype, *stages

    for number, network in enumerate(networks):
        if shape(network) != shape(networks[0]):
            raise SettingError(
                f"network {number} differs from the first in shape or engine: side by side they must be alike."
            )
