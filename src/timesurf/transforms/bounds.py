"""What transforms may hold in memory, whatever a file of a few bytes says of its field."""

from __future__ import annotations

import math
from collections.abc import Sequence

from timesurf.errors import SettingError

MOST_PIXELS = 1 << 26  # times polarities: filters remember up to 24 bytes for each


def pixels(field: Sequence[int], polarities: int = 1) -> int:
    """Pixels of a field, times polarities, for a transform that holds a number for each.

    Raises
    ------
    SettingError
        If they are more than `MOST_PIXELS`.
    """
    number = math.prod(field) * polarities
    if number > MOST_PIXELS:
        of = " x ".join(map(str, field)) + (f" with {polarities} polarities" if polarities > 1 else "")
        raise SettingError(
            f"A number for every pixel of a field of {of} would take {8 * number / 2**30:,.1f} GiB; at most "
            f"{MOST_PIXELS:,} of the {number:,} are accepted. Crop or downsample the events first "
            "(transforms.crop, transforms.downsample)."
        )
    return number
