"""Recordings of several data sets as one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from timesurf.errors import EventError

if TYPE_CHECKING:
    from timesurf.events import Recordings


def joined(parts: Sequence[Recordings]) -> Recordings:
    """All recordings, one after another, on the largest field and with the most polarities of them. This copies.

    Parameters
    ----------
    parts : sequence of Recordings
        At least one; all of as many dimensions, with labels of one kind where they have some.

    Returns
    -------
    Recordings
        Those of data without labels are unlabelled.

    Raises
    ------
    EventError
        If they do not go together.
    """
    from timesurf.events import Recordings

    if not parts:
        raise EventError("There are no recordings to join.")
    if len({len(part.field) for part in parts}) > 1:
        fields = " and ".join(sorted({" x ".join(map(str, part.field)) for part in parts}))
        raise EventError(f"Recordings on fields of {fields} cannot be joined: they differ in dimensions.")
    if len(parts) == 1:
        return parts[0]
    labels = [label for part in parts for label in part.known_labels]
    return Recordings(
        [np.concatenate(of) for of in zip(*(part.coords for part in parts), strict=True)],
        np.concatenate([part.t for part in parts]),
        np.concatenate([part.p for part in parts]),
        np.concatenate([[0], np.cumsum(np.concatenate([part.counts for part in parts]))]),
        field=np.max([part.field for part in parts], axis=0).tolist(),
        polarities=max(part.polarities for part in parts),
        labels=labels,
    )
