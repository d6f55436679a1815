"""Curves, bars, points and images: SVG that takes its colours from the page, and PNG for images of many pixels."""

from __future__ import annotations

import base64
import json
import math
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf.report.markup import Html, joined, number, percent, tag

Array = NDArray[Any]
# the colour map viridis at eleven places, as hexadecimal red, green and blue
_VIRIDIS = "440154 482475 414487 355f8d 2a788e 21918c 22a884 44bf70 7ad151 bddf26 fde725"
_PIXELS = 10_000  # larger images are reduced
_WIDTH, _HEIGHT = 440, 230  # of a chart, in its own units, chosen so that text is readable on a phone
_LEFT, _RIGHT, _TOP, _BOTTOM = 48, 430, 10, 192  # of the area inside the axes
_DASHES = (None, "7 3", "7 3 2 3", "2 3")
COLOURS = 7  # classes c0 to c6 in the style sheet


@dataclass(frozen=True, slots=True)
class Curve:
    """A line of a chart.

    Attributes
    ----------
    name : str
        Its name in the legend.
    y : array
        Shares, from 0 to 1, at each x of the chart; NaN where there is none.
    look : int
        Number of its colour and stroke.
    strong : bool
        Whether it is drawn thick.

    """

    name: str
    y: Array
    look: int = 0
    strong: bool = False


@dataclass(frozen=True, slots=True)
class _Axis:
    """A horizontal axis: from numbers to places on the page."""

    first: float
    last: float
    log: bool = False
    whole: bool = False  # ticks at whole numbers only

    def place(self, x: Any) -> Any:
        """Places of numbers between the left and the right end."""
        a, b, v = (np.log10(n) if self.log else np.asarray(n, dtype=float) for n in (self.first, self.last, x))
        return _LEFT + (v - a) / max(float(b - a), 1e-12) * (_RIGHT - _LEFT)

    def ticks(self) -> list[float]:
        """About five round numbers within the range."""
        if self.log:
            tens = range(math.floor(math.log10(self.first)), math.ceil(math.log10(self.last)) + 1)
            steps = (1, 2, 5) if self.last / self.first < 300 else (1,)
            return [n * 10.0**k for k in tens for n in steps if self.first <= n * 10.0**k <= self.last]
        step = _round_step((self.last - self.first) / 5)
        step = max(step, 1.0) if self.whole else step
        begin = math.ceil(self.first / step)
        return [k * step for k in range(begin, math.floor(self.last / step + 1e-9) + 1)]


# ------------------------------------------------------------------ images


def png(values: Array, most: float) -> str:
    """An image of numbers (rows, columns) as a data URI: 0 is dark, `most` bright, NaN transparent."""
    index = np.zeros(values.shape, dtype=np.uint8)  # entry 0 of the palette is transparent
    some = ~np.isnan(values)
    index[some] = 1 + np.round(254 * np.clip(values[some] / max(most, 1e-12), 0, 1)).astype(np.uint8)
    rows = np.pad(index, ((0, 0), (1, 0)))  # each row begins with the number of its filter, 0 for none
    height, width = values.shape
    head = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    parts = (("IHDR", head), ("PLTE", _palette()), ("tRNS", b"\0"), ("IDAT", zlib.compress(rows.tobytes(), 9)))
    chunks = b"".join(_chunk(name, data) for name, data in (*parts, ("IEND", b"")))
    return "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n" + chunks).decode()


def image(values: Array, most: float, words: str) -> Html:
    """Numbers (rows, columns) as an image that scales without blur; large images are reduced first."""
    small = shrunk(values)
    height, width = small.shape
    return tag("img", src=png(small, most), alt=words, width=width, height=height)


def shrunk(values: Array) -> Array:
    """Reduce an image to about 10,000 pixels at most; each pixel is the largest of those it replaces.

    Examples
    --------
    >>> shrunk(np.zeros((28, 57))).shape, shrunk(np.zeros((260, 346))).shape
    ((28, 57), (87, 116))

    """
    by = math.ceil(math.sqrt(values.size / _PIXELS))
    if by <= 1:
        return values
    rows, columns = (math.ceil(n / by) for n in values.shape)
    full = np.full((rows * by, columns * by), np.nan)
    full[: values.shape[0], : values.shape[1]] = values
    blocks = full.reshape(rows, by, columns, by)
    empty = np.isnan(blocks).all(axis=(1, 3))
    return np.where(empty, np.nan, np.where(np.isnan(blocks), -np.inf, blocks).max(axis=(1, 3)))


def _palette() -> bytes:
    """The palette of a PNG: a transparent entry, then the colour map."""
    stops = np.array([[int(stop[i : i + 2], 16) for i in (0, 2, 4)] for stop in _VIRIDIS.split()])
    at = np.linspace(0, len(stops) - 1, 255)
    colours = np.stack([np.interp(at, np.arange(len(stops)), stops[:, c]) for c in range(3)], axis=1)
    return bytes(3) + np.round(colours).astype(np.uint8).tobytes()


def _chunk(name: str, data: bytes) -> bytes:
    """A chunk of a PNG file."""
    body = name.encode() + data
    return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))


# ------------------------------------------------------------------ charts


def curves(
    x: Array, lines: Sequence[Curve], *, xlabel: str, words: str, log: bool = False, unit: str = "", mark: Any = None
) -> Html:
    """Draw shares over x, with a legend; the script shows the values at the x that is pointed at.

    Parameters
    ----------
    x : array
        Ascending numbers.
    lines : sequence of Curve
        What to draw.
    xlabel : str
        Name of x.
    words : str
        The chart in words, for those who cannot see it.
    log : bool
        Whether x is logarithmic.
    unit : str
        Unit of x.
    mark : number, optional
        An x at which to draw a dotted line.

    Returns
    -------
    Html
        The chart.

    """
    axis = _Axis(float(x[0]), float(x[-1]), log, whole=x.dtype.kind == "i")
    across = np.round(axis.place(x), 1)
    drawn = [_curve(across, line) for line in lines]
    if mark is not None:
        at = float(axis.place(mark))
        drawn.append(tag("line", x1=at, x2=at, y1=_TOP, y2=_BOTTOM, class_="mark"))
    tips = [f"{xlabel} {v:.4g}{unit}: " + ", ".join(_value(line, n) for line in lines) for n, v in enumerate(x)]
    body = _svg(words, _share_axis(), _x_axis(axis, xlabel), *drawn)
    return _interactive(joined([body, _legend(lines)]), across, tips)


def _value(line: Curve, n: int) -> str:
    """Name and value of a curve at one x."""
    return f"{line.name} {percent(float(line.y[n]))}"


def _curve(across: Array, line: Curve) -> Html:
    """One curve, with dots if it has few points."""
    y = _BOTTOM - np.clip(line.y, 0, 1) * (_BOTTOM - _TOP)
    steps, pen = [], "M"
    for a, b in zip(across, y, strict=True):
        if math.isnan(b):
            pen = "M"
            continue
        steps.append(f"{pen}{number(a)} {number(b)}")
        pen = "L"
    some = [(a, b) for a, b in zip(across, y, strict=True) if not math.isnan(b)]
    dots = [tag("circle", cx=float(a), cy=float(b), r=2.5) for a, b in some] if len(some) <= 30 else []
    strong = " strong" if line.strong else ""
    path = tag("path", d="".join(steps), stroke_dasharray=_DASHES[line.look % len(_DASHES)])
    return tag("g", path, *dots, class_=f"curve c{line.look % COLOURS}{strong}")


def _legend(lines: Sequence[Curve]) -> Html:
    """The legend of curves."""
    items = []
    for line in lines:
        stroke = tag("path", d="M0 4H26", stroke_dasharray=_DASHES[line.look % len(_DASHES)])
        look = f"curve c{line.look % COLOURS}{' strong' if line.strong else ''}"
        key = tag("svg", tag("g", stroke, class_=look), viewBox="0 0 26 8", aria_hidden="true")
        items.append(tag("li", key, " ", line.name))
    return tag("ul", *items, class_="legend")


def columns(values: Array, *, names: Sequence[str], tips: Sequence[str], xlabel: str, words: str) -> Html:
    """Draw one column per number: an open one to the top for infinity, a cross for 0."""
    bounded = values[np.isfinite(values)]
    top = 1.08 * float(bounded.max(initial=0)) or 1.0
    width = (_RIGHT - _LEFT) / len(values)
    across = _LEFT + width * (np.arange(len(values)) + 0.5)
    bars = [_column(float(a), float(v), top, width) for a, v in zip(across, values, strict=True)]
    every = math.ceil(len(values) / 16) if max(map(len, names)) <= 3 else math.ceil(len(values) / 6)
    ticks = [_tick(float(a), name) for a, name in list(zip(across, names, strict=True))[::every]]
    levels = [(v, _BOTTOM - v / top * (_BOTTOM - _TOP)) for v in _Axis(0, top).ticks()] if len(bounded) else []
    rules = [_level(y, f"{v:g}") for v, y in levels]
    return _interactive(_svg(words, *rules, *ticks, _x_name(xlabel), *bars), across, tips)


def _column(middle: float, value: float, top: float, width: float) -> Html:
    """One column."""
    if value == 0:
        return tag("path", d=f"M{number(middle - 4)} {_BOTTOM - 8}l8 8m0-8l-8 8", class_="cross")
    high = _TOP if math.isinf(value) else _BOTTOM - value / top * (_BOTTOM - _TOP)
    look = "column open" if math.isinf(value) else "column"
    wide = max(0.8 * width, 0.5)
    return tag("rect", x=middle - wide / 2, y=high, width=wide, height=_BOTTOM - high, class_=look)


def points(t: Array, y: Array, kept: Array, *, ylabel: str, high: int, words: str) -> Html:
    """Draw events over time, in ms: kept ones as dots, rejected ones as crosses."""
    axis = _Axis(0, max(float(t[-1]), 1e-3))
    across = axis.place(t)
    down = _TOP + (y + 0.5) / high * (_BOTTOM - _TOP)
    dots = "".join(f"M{number(a)} {number(b)}h0" for a, b in zip(across[kept], down[kept], strict=True))
    crosses = _crosses(across[~kept], down[~kept])
    name = tag("text", ylabel, x=12, y=(_TOP + _BOTTOM) / 2, text_anchor="middle")
    ends = [_level(_TOP + (v + 0.5) / high * (_BOTTOM - _TOP), str(v)) for v in sorted({0, high - 1})]
    clouds = [tag("path", d=d, class_=look) for d, look in ((crosses, "rejected"), (dots, "kept")) if d]
    return _svg(words, *ends, name, _x_axis(axis, "ms"), *clouds)


def trade(x: Array, y: Array, full: Array, *, xlabel: str, words: str) -> Html:
    """Draw shares over shares: dots, and crosses where `full` is false."""
    axis = _Axis(0, 100)
    across, down = axis.place(100 * x), _BOTTOM - y * (_BOTTOM - _TOP)
    crosses = tag("path", d=_crosses(across[~full], down[~full]), class_="rejected")
    dots = [tag("circle", cx=float(a), cy=float(b), r=2.5) for a, b in zip(across[full], down[full], strict=True)]
    return _svg(words, _share_axis(), _x_axis(axis, xlabel), crosses, tag("g", *dots, class_="curve c0"))


def _crosses(across: Array, down: Array) -> str:
    """Crosses as an SVG path."""
    return "".join(f"M{number(a - 1.5)} {number(b - 1.5)}l3 3m0-3l-3 3" for a, b in zip(across, down, strict=True))


def bars(rows: Sequence[tuple[str, Sequence[float]]], names: Sequence[str] = (), full: float = 1) -> Html:
    """Draw shares as horizontal bars, one or more per row; `names` are those of a row, `full` is the longest bar."""
    body = []
    for name, shares in rows:
        lying = [_bar(share, full, n) for n, share in enumerate(shares)]
        body.append(tag("tr", tag("th", tag("span", name, title=name), scope="row"), tag("td", *lying, class_="bars")))
    keys = [tag("li", tag("span", class_=f"key b{n % COLOURS}"), " ", name) for n, name in enumerate(names)]
    legend = tag("ul", *keys, class_="legend") if len(names) > 1 else Html()
    return joined([tag("table", tag("tbody", *body), class_="barred"), legend])


def _bar(share: float, full: float, n: int) -> Html:
    """One bar with its value."""
    if math.isnan(share):
        return tag("span", tag("span", "no recordings", class_="value"), class_="track")
    bar = tag("span", class_=f"bar b{n % COLOURS}", style=f"width:{70 * min(share / full, 1):.1f}%")
    return tag("span", bar, tag("span", percent(share), class_="value"), class_="track")


# ------------------------------------------------------------------ parts of charts


def _svg(words: str, *inside: Any) -> Html:
    """A chart with a cursor, which the script moves."""
    cursor = tag("line", x1=-9, x2=-9, y1=_TOP, y2=_BOTTOM, class_="cursor")
    return tag("svg", *inside, cursor, viewBox=f"0 0 {_WIDTH} {_HEIGHT}", role="img", aria_label=words, class_="chart")


def _interactive(picture: Html, across: Array, tips: Sequence[str]) -> Html:
    """A chart for which the script shows the text of the nearest x."""
    data = json.dumps([[round(float(a), 1), text] for a, text in zip(across, tips, strict=True)], ensure_ascii=False)
    return tag("div", picture, tag("output", class_="readout"), class_="interactive", data_points=data)


def _share_axis() -> Html:
    """Horizontal lines from 0 to 100 %."""
    levels = ((0, "0"), (0.25, "25"), (0.5, "50"), (0.75, "75"), (1, "100\u00a0%"))
    return joined(_level(_BOTTOM - v * (_BOTTOM - _TOP), name) for v, name in levels)


def _level(y: float, name: str) -> Html:
    """A horizontal line with its label."""
    rule = tag("line", x1=_LEFT, x2=_RIGHT, y1=float(y), y2=float(y), class_="rule")
    return joined([rule, tag("text", name, x=_LEFT - 5, y=float(y) + 4, text_anchor="end")])


def _x_axis(axis: _Axis, name: str) -> Html:
    """Ticks and name of the horizontal axis."""
    return joined([*(_tick(float(axis.place(v)), f"{v:,g}") for v in axis.ticks()), _x_name(name)])


def _tick(x: float, name: str) -> Html:
    """A tick of the horizontal axis with its label."""
    rule = tag("line", x1=x, x2=x, y1=_BOTTOM, y2=_BOTTOM + 4, class_="tick")
    return joined([rule, tag("text", name, x=x, y=_BOTTOM + 17, text_anchor="middle")])


def _x_name(name: str) -> Html:
    """The name of the horizontal axis."""
    return tag("text", name, x=(_LEFT + _RIGHT) / 2, y=_HEIGHT - 4, text_anchor="middle")


def _round_step(step: float) -> float:
    """The smallest of 1, 2, 5, 10, 20, ... that is at least as large.

    Examples
    --------
    >>> _round_step(0.3), _round_step(7)
    (0.5, 10.0)

    """
    ten = 10.0 ** math.floor(math.log10(step)) if step > 0 else 1.0
    return next(n * ten for n in (1, 2, 5, 10) if n * ten >= step * (1 - 1e-9))


def in_words(lines: Sequence[Curve], along: str) -> str:
    """Curves in words, for those who cannot see them."""
    ends = ", ".join(f"{line.name} {percent(float(line.y[-1]))}" for line in lines)
    return f"Curves {along}; at the end {ends}."


def broad(image: Array) -> str:
    """The style class of images that are wide and low, which get more room."""
    height, width = image.shape
    return " broad" if width > 2.5 * height else ""


def tile(img: Html, name: str) -> Html:
    """An image with its name below."""
    return tag("div", img, tag("span", name), class_="unit")
