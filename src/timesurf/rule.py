"""Sup3r, the learning rule: its parameters and its equations, once, in the paper's names.

Every layer learns from each event that reaches the last layer. At the place where layer k emitted, `ftv` contains how
recently each of its units fired (1: just now, 0: long ago or never). From it::

    S  = G (1 - mean of the other units' ftv)       G = +1: right class or no label, -1: wrong class
    dS = S - S of the layer's previous output at that place (0 before the first)

Layer k learns from S and dS of layer k + 1, the last layer from its own. With ts the surface, f the unit that fired,
dist_n the distance ``||ts - c_n||``::

    c_f  += (alpha dS + beta S) (ts - c_f)
    th_f += (gamma dS + delta S) near(th_f, dist_f)
    th_n -= (gamma dS + delta S) near(th_n, dist_n)     for other n with dist_n < th_n, if S >= 0 and dS >= 0

    near(th, dist) = exp(-(th - dist) / d)   "border": surfaces close to the threshold move it
                     exp(-dist / d)          "centre": as the paper prints it

With labels, the last layer may learn by the delta rule instead (`last="delta"`), which moves all of its units::

    q_n  = softmax_n(-temperature dist_n^2)                       the share of unit n
    r_n  = q_n / (sum of q over the units of the right class)     for those units, 0 for the others
    c_n += alpha (r_n - q_n) (ts - c_n)                           for all n

Two differences from the printed equations, both needed by the paper's own text: the mean in S divides by N - 1 units,
not by K - 1 layers (else S is not 0 when all units fire at once), and `near` measures from the border ("how close to
the border samples need to be"). A threshold stops at 0: its unit is then silent.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from timesurf.errors import SettingError

Array = NDArray[Any]
PerLayer = float | tuple[float, ...]  # one number for all layers, or one per layer
Kernel = Literal["border", "centre"]
Last = Literal["sup3r", "delta"]
SLACK = 1e-6  # S and dS this little below 0 count as 0: while one unit fires steadily dS is 0 up to rounding
_LARGEST = 1e9  # of a rate: far beyond what learns anything, and far from where numbers end
DOUBT = 1e-4  # added to a class's share before its logarithm is taken: one event never rules a class out
RATES = ("alpha", "beta", "gamma", "delta", "d")


@dataclass(frozen=True, slots=True)
class Rule:
    """Rates of Sup3r. Each is one number for all layers, or a tuple with one per layer.

    Attributes
    ----------
    alpha, beta : float or tuple of float
        Of centroids: weight of dS, and of S.
    gamma, delta : float or tuple of float
        Of thresholds: weight of dS, and of S.
    d : float or tuple of float
        How close to the border (or the centre) a surface must be to move a threshold.
    kernel : {"border", "centre"}
        Where `near` measures from.
    competition : bool
        Whether a unit that fires correctly pushes back the thresholds of the other units that its surface reaches.
    last : {"sup3r", "delta"}
        How the last layer learns from events with a label; without one it always learns by Sup3r.
    temperature : float
        How fast the share of a unit falls with its squared distance: in the delta rule and in decisions by evidence.

    Examples
    --------
    >>> Rule(alpha=1e-3).per_layer(2)
    array([[1.e-03, 1.e-04, 1.e-04, 5.e-06, 3.e-01],
           [1.e-03, 1.e-04, 1.e-04, 5.e-06, 3.e-01]])
    """

    alpha: PerLayer = 1e-4  # centroids, weight of dS
    beta: PerLayer = 1e-4  # centroids, weight of S; the paper prints 1e-5, and then some networks get stuck
    gamma: PerLayer = 1e-4  # thresholds, weight of dS
    delta: PerLayer = 5e-6  # thresholds, weight of S
    d: PerLayer = 0.3  # how close to the border (or the centre) a surface must be to move a threshold
    kernel: Kernel = "border"
    competition: bool = True  # whether the unit that fires pushes back the thresholds of others
    last: Last = "sup3r"  # how the last layer learns from events with a label
    temperature: float = 5.0  # of the shares of units: 1 / squared distance

    def __post_init__(self) -> None:
        """Refuse rates that are not numbers, a d that is not positive, an unknown kernel."""
        for name in RATES:
            value = getattr(self, name)
            numbers = tuple(value) if isinstance(value, tuple | list) else (value,)
            for number in numbers:
                if not isinstance(number, int | float | np.number) or not _finite(number):
                    raise SettingError(f"{name} = {value!r} must be a finite number, or one per layer.")
                if abs(float(number)) > _LARGEST:
                    raise SettingError(f"{name} = {value!r} must lie between -{_LARGEST:g} and {_LARGEST:g}.")
                if name == "d" and number <= 0:
                    raise SettingError(f"d = {value!r} must be positive.")
            plain = tuple(map(float, numbers))
            object.__setattr__(self, name, plain if isinstance(value, tuple | list) else plain[0])
        if self.kernel not in get_args(Kernel):
            raise SettingError(f"kernel = {self.kernel!r} must be one of {', '.join(get_args(Kernel))}.")
        object.__setattr__(self, "competition", bool(self.competition))
        if self.last not in get_args(Last):
            raise SettingError(f"last = {self.last!r} must be one of {', '.join(get_args(Last))}.")
        if not isinstance(self.temperature, int | float | np.number) or not 0 < self.temperature < math.inf:
            raise SettingError(f"temperature = {self.temperature!r} must be a positive number.")
        object.__setattr__(self, "temperature", float(self.temperature))

    def per_layer(self, layers: int) -> Array:
        """Rates as an array (layers, 5), columns as in RATES."""
        table = np.empty((layers, len(RATES)))
        for column, name in enumerate(RATES):
            value = getattr(self, name)
            if isinstance(value, tuple) and len(value) != layers:
                raise SettingError(f"{name} has {len(value)} values for {layers} layers.")
            table[:, column] = value
        return table

    def for_adapting(self) -> Rule:
        """The rule with a tenth of its beta, for learning without labels.

        Without labels S is always positive, and beta pulls each unit towards all that it accepts, faster than the
        thresholds can follow.
        """
        tenth = tuple(b / 10 for b in self.beta) if isinstance(self.beta, tuple) else self.beta / 10
        return replace(self, beta=tenth)

    def scaled(self, by: float) -> Rule:
        """The rule with all rates times `by`; d, which is a distance, stays the same.

        Examples
        --------
        >>> Rule(alpha=1e-3, gamma=(1.0, 2.0)).scaled(0.5).gamma
        (0.5, 1.0)
        """
        rates: dict[str, Any] = {name: getattr(self, name) for name in RATES if name != "d"}
        for name, rate in rates.items():
            rates[name] = tuple(by * r for r in rate) if isinstance(rate, tuple) else by * rate
        return replace(self, **rates)

    def to_dict(self) -> dict[str, Any]:
        """All settings by name, ready for JSON."""
        return {f.name: getattr(self, f.name) for f in fields(self)}


def _finite(number: Any) -> bool:
    try:
        return math.isfinite(number)
    except OverflowError:  # an integer too large for a float
        return False


def sign(voted: int, label: int) -> float:
    """G: +1 if the last layer voted for the right class or there is no label (-1), else -1."""
    return 1.0 if label in (voted, -1) else -1.0


def separability(ftv: Array, fired: int, G: float) -> float:
    """S = G (1 - mean of the other units' feedback): +1 sparse, stable and right; -1 sparse, stable and wrong; 0 dense.

    Examples
    --------
    >>> separability(np.array([1.0, 0.0, 0.0]), fired=0, G=+1)
    1.0
    """
    others = ftv.sum() - ftv[fired]
    return float(G * (1.0 - others / max(len(ftv) - 1, 1)))


def near(threshold: Array, distance: Array, d: float, kernel: Kernel) -> Array:
    """How much a surface at this distance moves a threshold: 1 on the border (or the centre), less away from it."""
    away = threshold - distance if kernel == "border" else distance
    weight: Array = np.exp(-away / d)
    return weight


def centroid_step(ts: Array, c: Array, gain: float) -> Array:
    """Step of the centroid that fired: gain = alpha dS + beta S. With gain = eta > 0, online k-means."""
    step: Array = gain * (ts - c)
    return step


def threshold_steps(
    th: Array, dist: Array, fired: int, S: float, dS: float, gain: float, d: float, rule: Rule
) -> Array:
    """Steps of all thresholds of a layer: gain = gamma dS + delta S. An infinite threshold (none) stays infinite."""
    steps = np.zeros_like(th)
    if rule.competition and S >= -SLACK and dS >= -SLACK:
        reached = dist < th
        steps[reached] = -gain * near(th[reached], dist[reached], d, rule.kernel)
    steps[fired] = gain * near(th[fired], dist[fired], d, rule.kernel)
    return steps


def shares(squared: Array, temperature: float) -> Array:
    """Shares of units at these squared distances: q_n = softmax_n(-temperature dist_n^2).

    Examples
    --------
    >>> shares(np.array([0.0, 0.0, 1000.0]), temperature=5.0)
    array([0.5, 0.5, 0. ])
    """
    weight: Array = np.exp(-temperature * (squared - squared.min()))
    weight /= weight.sum()
    return weight


def class_shares(squared: Array, temperature: float, units_per_class: int) -> Array:
    """Shares of classes: the sum of the shares of their units."""
    total: Array = shares(squared, temperature).reshape(-1, units_per_class).sum(axis=1)
    return total


def delta_gains(squared: Array, temperature: float, label: int, units_per_class: int) -> Array:
    """Gains of all units by the delta rule, without alpha: r_n - q_n.

    Examples
    --------
    >>> delta_gains(np.array([0.0, 0.0]), temperature=5.0, label=1, units_per_class=1)
    array([-0.5,  0.5])
    """
    right = slice(label * units_per_class, (label + 1) * units_per_class)
    gains: Array = -shares(squared, temperature)
    gains[right] += shares(squared[right], temperature)
    return gains
