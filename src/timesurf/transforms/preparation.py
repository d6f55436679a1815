"""What the events of a sensor go through before a network sees them: kept with the network, repeated on any source."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from timesurf import transforms
from timesurf.errors import EventError, SettingError
from timesurf.events import MOST_ENTRIES, Recordings, axis_name
from timesurf.times import Time, microseconds, readable
from timesurf.transforms import bounds
from timesurf.transforms.parts import AT_ONCE, in_stretches

Array = NDArray[Any]
Polarity = Literal["both", "merge", "on", "off"]
_LARGEST = 1 << 20  # pixels along one dimension
_MOST_DIMENSIONS = 32
_RATES = 1.0, 1e6  # events per second of one pixel


@dataclass(frozen=True, slots=True)
class Preparation:
    """Crop, choose polarities, filter, downsample: in this order, on recordings and on a stream alike.

    Parameters
    ----------
    field : sequence of int, optional
        Size of the sensor; None: as the source states it.
    polarities : int, optional
        Of the sensor; None: as the source states it.
    crop : sequence of int, optional
        Size of the box that remains, one number per dimension.
    corner : sequence of int, optional
        Where that box begins; None: it lies in the middle of the field.
    polarity : {"both", "merge", "on", "off"}
        Leave polarities as they are, take all for one, or use only events of one.
    hot_pixels : float, optional
        Leave out pixels while they fire faster than this, in events per second, see `transforms.hot_pixels`.
    denoise : Time, optional
        Leave out events that no neighbour supports within this time, see `transforms.denoise`.
    downsample : int or sequence of int, optional
        Pixels that become one, see `transforms.downsample`.

    Examples
    --------
    >>> half = Preparation(crop=(4,), downsample=2)
    >>> half(Recordings([[0, 3, 5]], t=[1, 2, 3], field=(6,))).coords
    (array([1], dtype=uint8),)
    >>> print(half)
    crop 4, downsample 2
    """

    field: tuple[int, ...] | None = None
    polarities: int | None = None
    crop: tuple[int, ...] | None = None
    corner: tuple[int, ...] | None = None
    polarity: Polarity = "both"
    hot_pixels: float | None = None
    denoise: Time | None = None
    downsample: tuple[int, ...] | int | None = None

    def __post_init__(self) -> None:
        for name, least in (("field", 1), ("crop", 1), ("corner", 0), ("downsample", 1)):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, _numbers(value, name, least))
        if self.field is not None and math.prod(self.field) > MOST_ENTRIES:
            raise SettingError(f"field = {self.field} has more than {MOST_ENTRIES:,} pixels.")
        if self.hot_pixels or self.denoise:
            bounds.pixels(self.crop or self.field or ())
        if self.polarities is not None:
            (number,) = _numbers([self.polarities], "polarities", 1)
            object.__setattr__(self, "polarities", number)
        if self.polarity not in get_args(Polarity):
            raise SettingError(f"polarity = {self.polarity!r} must be one of {', '.join(get_args(Polarity))}.")
        if self.corner is not None and self.crop is None:
            raise SettingError("corner says where a crop begins: give crop as well.")
        if self.hot_pixels is not None:
            _check_rate(self.hot_pixels)
        if self.denoise is not None:
            object.__setattr__(self, "denoise", microseconds(self.denoise, "denoise"))
        sizes = [value for value in (self.field, self.crop, self.corner) if value is not None]
        sizes += [self._factors] if len(self._factors) > 1 else []
        if len({len(size) for size in sizes}) > 1:
            raise SettingError(f"{self}: all sizes need the same number of dimensions.")

    def __str__(self) -> str:
        words = {"merge": "polarities merged", "on": "on events", "off": "off events"}
        crop = "" if self.crop is None else f"crop {_sized(self.crop)}"
        corner = "" if self.corner is None else f" from {_sized(self.corner, ',')}"
        steps = (
            crop + corner,
            words.get(self.polarity, ""),
            f"hot pixels over {self.hot_pixels:g} per second left out" if self.hot_pixels else "",
            f"denoise {readable(microseconds(self.denoise))}" if self.denoise else "",
            f"downsample {_sized(self._factors)}" if self._factors else "",
        )
        return ", ".join(filter(None, steps)) or "none"

    @property
    def _factors(self) -> tuple[int, ...]:
        """Pixels that become one: one number per dimension, or one for all; empty for none."""
        return self.downsample if isinstance(self.downsample, tuple) else ()

    @property
    def changes(self) -> bool:
        """Whether it does anything to events."""
        return str(self) != "none"

    def to_dict(self) -> dict[str, Any]:
        """Its settings, ready for JSON, without those that are None."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    def on(self, field: Sequence[int], polarities: int) -> Preparation:
        """The same for a sensor of this size: with a corner where it crops.

        Raises
        ------
        SettingError
            If it does not fit a sensor of so many dimensions or polarities, or nothing would remain.
        """
        corner = self.corner
        for name, size in (("crop", self.crop), ("downsample", self._factors if len(self._factors) > 1 else None)):
            if size is not None and len(size) != len(field):
                has = f"{len(size)} number{'s' * (len(size) != 1)}"
                raise SettingError(f"{name} = {_sized(size)} has {has}, the field {_sized(field)} {len(field)}.")
        if self.crop is not None and corner is None:
            corner = tuple(max((n - m) // 2, 0) for n, m in zip(field, self.crop, strict=True))
        if self.polarity in ("on", "off") and polarities != 2:
            raise SettingError(f"polarity = {self.polarity!r} needs events of 2 polarities; these have {polarities}.")
        if corner is not None and any(c >= n for c, n in zip(corner, field, strict=True)):
            raise SettingError(f"crop: the corner {_sized(corner, ',')} is off the field, {_sized(field)}.")
        return replace(self, field=tuple(field), polarities=polarities, corner=corner)

    def __call__(self, recordings: Recordings) -> Recordings:
        """Recordings as they are after it. Those on a smaller field than the sensor's are taken as parts of it."""
        recordings = self._on_sensor(recordings)
        if not self.changes:
            return recordings
        here = self.on(recordings.field, recordings.polarities)
        if recordings.counts.max(initial=0) > AT_ONCE:
            return in_stretches(recordings, lambda: _Stream(here).passed)
        cut = here._cropped(recordings)
        if here.hot_pixels is not None:
            cut = transforms.hot_pixels(cut, here.hot_pixels)
        if here.denoise is not None:
            cut = transforms.denoise(cut, here.denoise)
        return here._coarse(cut)

    def sensor(self, field: Sequence[int]) -> tuple[int, ...]:
        """The size of the sensor: as given, else the smallest that it leads to such a field from.

        Raises
        ------
        SettingError
            If it crops the middle of a sensor whose size is not known.
        """
        if self.field is not None:
            return self.field
        if self.crop is not None and self.corner is None:
            raise SettingError("The middle of the sensor is cropped, but its size is not known: give field as well.")
        if self.crop is not None and self.corner is not None:
            return tuple(c + n for c, n in zip(self.corner, self.crop, strict=True))
        factors = self._factors if len(self._factors) > 1 else (self._factors or (1,)) * len(field)
        return tuple(n * by for n, by in zip(field, factors, strict=True))

    def leads_to(self, field: Sequence[int], polarities: int) -> tuple[tuple[int, ...], int]:
        """Size and polarities of what comes out, from a sensor of this size.

        Examples
        --------
        >>> Preparation(crop=(128, 128), polarity="merge", downsample=4).leads_to((346, 260), 2)
        ((32, 32), 1)
        """
        none = np.empty(0, np.int64)
        events = Recordings([none] * len(field), none, offsets=[0, 0], field=field, polarities=polarities)
        found = replace(self, hot_pixels=None, denoise=None)(events)  # filters change neither, and take memory
        return found.field, found.polarities

    def check(self, field: Sequence[int], polarities: int) -> None:
        """Refuse, as SettingError, if it cannot lead to this field and so many polarities."""
        if not self.changes:
            return
        sensor = self.crop if self.field is None and self.crop is not None else self.sensor(field)
        here = replace(self, corner=None) if sensor is self.crop else self
        found = here.leads_to(sensor, self.polarities or (2 if self.polarity != "both" else polarities))
        if found != (tuple(field), polarities):
            raise SettingError(
                f"preparation ({self}) leads from a sensor of {_sized(sensor)} pixels to a field of {_sized(found[0])} "
                f"with polarities: {found[1]}; the network takes {_sized(field)} with {polarities}."
            )

    def stream(self) -> Callable[[Array], Array]:
        """A function from packet to packet of one stream, which remembers what its filters need.

        Returns
        -------
        callable
            Takes and returns structured arrays (x, y, ..., t, p). However a stream is cut into packets, the same
            events come out, those that the whole stream as a recording gives. Raises EventError where an event is off
            the sensor, or times decrease within a packet; such a packet changes nothing.

        Raises
        ------
        SettingError
            If the size of the sensor is not known.
        """
        if self.field is None or self.polarities is None:
            raise SettingError("The size of the sensor is not known: give its field, such as 346x260.")
        return _Stream(self.on(self.field, self.polarities))

    def _on_sensor(self, recordings: Recordings) -> Recordings:
        """On the whole sensor, if that is known and larger: a file without a header has the field of its events."""
        field, polarities = self.field or recordings.field, max(self.polarities or 0, recordings.polarities)
        if len(field) == len(recordings.field) and all(a <= b for a, b in zip(recordings.field, field, strict=True)):
            return recordings.on_field(field, polarities)
        return recordings

    def _cropped(self, events: Recordings) -> Recordings:
        if self.crop is not None:
            events = transforms.crop(events, self.corner, self.crop)
        if self.polarity == "merge":
            events = transforms.merge_polarities(events)
        if self.polarity in ("on", "off"):
            events = transforms.only_polarity(events, int(self.polarity == "on"))
        return events

    def _coarse(self, events: Recordings) -> Recordings:
        factors = self._factors
        if not factors:
            return events
        coarse: Recordings = transforms.downsample(events, factors if len(factors) > 1 else factors[0])
        return coarse


class _Stream:
    """The packets of one stream through a preparation for a sensor of known size."""

    def __init__(self, preparation: Preparation) -> None:
        self._preparation, self._sensor = preparation, preparation.field or ()
        self._places = [axis_name(d) for d in range(len(self._sensor))]
        pixels = math.prod(preparation.crop or self._sensor)
        hot, noisy = (0 if of is None else pixels for of in (preparation.hot_pixels, preparation.denoise))
        self._heat = np.zeros(hot, np.int64), np.zeros(hot)
        self._past = np.zeros(noisy, np.int64)

    def __call__(self, packet: Array) -> Array:
        names, polarities = packet.dtype.names or (), self._preparation.polarities or 1
        if any(name not in names for name in (*self._places, "t")):
            raise EventError(f"A packet needs the fields {', '.join(self._places)} and t, not {', '.join(names)}.")
        p = packet["p"] if "p" in names and polarities > 1 else None
        coords = [packet[name] for name in self._places]
        events = Recordings(coords, packet["t"], p, field=self._sensor, polarities=polarities)
        return self.passed(events).to_structured()[0]

    def passed(self, events: Recordings) -> Recordings:
        """What remains of the next events."""
        how = self._preparation
        events = how._cropped(events)
        if how.hot_pixels is not None:
            events = transforms.without_hot_pixels(events, how.hot_pixels, self._heat)
        if how.denoise is not None:
            events = transforms.without_noise(events, microseconds(how.denoise), self._past)
        return how._coarse(events)


def from_dict(about: Any) -> Preparation:
    """The preparation that `Preparation.to_dict` wrote; SettingError where it is none."""
    if not isinstance(about, dict):
        raise SettingError(f"preparation = {about!r} must be settings by name.")
    try:
        return Preparation(**about)
    except TypeError as error:
        raise SettingError(f"preparation: {error}.") from error


def _numbers(value: Any, name: str, least: int) -> tuple[int, ...]:
    """Whole numbers, one per dimension."""
    numbers = tuple(value) if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str) else (value,)
    whole = all(isinstance(n, int | np.integer) and not isinstance(n, bool) for n in numbers)
    if not whole or not 1 <= len(numbers) <= _MOST_DIMENSIONS or any(not least <= n <= _LARGEST for n in numbers):
        raise SettingError(f"{name} = {value!r} must be whole numbers from {least} to {_LARGEST:,}, one per dimension.")
    return tuple(map(int, numbers))


def _check_rate(rate: Any) -> None:
    low, high = _RATES
    if isinstance(rate, bool) or not isinstance(rate, int | float | np.number) or not low <= rate <= high:
        raise SettingError(f"hot_pixels = {rate!r} must lie between {low:g} and {high:,g} events per second.")


def _sized(numbers: Any, between: str = "x") -> str:
    return between.join(map(str, numbers))
