"""What can be turned of the settings that the data chooses: factors of each choice of the law."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace

from timesurf.errors import SettingError


@dataclass(frozen=True, slots=True)
class Knobs:
    """Factors of what the law chooses: 1 is the law itself, other numbers are its neighbours.

    Attributes
    ----------
    window, units, tau : float
        Of the hidden layer: side of the window, number of units, time constant.
    places : float
        Places per dimension that the last layer sees.
    last_tau, temperature : float
        Of the last layer.
    alpha, passes : float
        Of training.
    copies : float
        In how many shapes each recording is learned from: itself, and copies of it that are bent.
    units_per_class : float
        Of the last layer: units per class.
    """

    window: float = 1.0
    units: float = 1.0
    tau: float = 1.0
    places: float = 1.0
    last_tau: float = 1.0
    temperature: float = 1.0
    alpha: float = 1.0
    passes: float = 1.0
    copies: float = 1.0
    units_per_class: float = 1.0

    def __post_init__(self) -> None:
        """Refuse what is no factor."""
        for each in fields(self):
            value = getattr(self, each.name)
            if not (isinstance(value, int | float) and 0 < value < math.inf):
                raise SettingError(f"{each.name} = {value!r} must be a positive number: a factor of what is chosen.")

    @property
    def structural(self) -> Knobs:
        """Those that turn what is found by looking at the recordings; the others only turn how the last layer learns.

        Examples
        --------
        >>> Knobs(tau=2, alpha=0.5).structural == Knobs(tau=2)
        True
        """
        return replace(self, temperature=1.0, alpha=1.0, passes=1.0, copies=1.0, units_per_class=1.0)

    @property
    def changed(self) -> dict[str, float]:
        """Those that are not 1."""
        return {each.name: value for each in fields(self) if (value := getattr(self, each.name)) != 1}


LAW = Knobs()
