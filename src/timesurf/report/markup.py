"""HTML in which all text is escaped unless it is HTML already."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any

_EMPTY = ("img", "line", "path", "rect", "circle")  # elements without content


class Html(str):
    """Text that is HTML already; any other text is escaped."""

    __slots__ = ()


def escaped(value: Any) -> Html:
    """A value as HTML.

    Examples
    --------
    >>> escaped("<b>"), escaped(Html("<b>"))
    ('&lt;b&gt;', '<b>')

    """
    return value if isinstance(value, Html) else Html(html.escape(str(value)))


def tag(name: str, *inside: Any, **attributes: Any) -> Html:
    """Make an element.

    Parameters
    ----------
    name : str
        Name of the element.
    *inside
        Its content.
    **attributes
        Its attributes: a trailing _ of a name is removed, other _ become -; None leaves the attribute out.

    Returns
    -------
    Html
        The element.

    Examples
    --------
    >>> tag("p", "a < b", class_="note", data_tip='"')
    '<p class="note" data-tip="&quot;">a &lt; b</p>'

    """
    parts = [name]
    for key, value in attributes.items():
        if value is not None:
            value = number(value) if isinstance(value, float) else value
            parts.append(f'{key.rstrip("_").replace("_", "-")}="{html.escape(str(value))}"')
    begin = " ".join(parts)
    return Html(f"<{begin}/>" if name in _EMPTY else f"<{begin}>{joined(inside)}</{name}>")


def joined(parts: Iterable[Any], between: str = "") -> Html:
    """Join parts."""
    return Html(between.join(map(escaped, parts)))


def table(head: Sequence[Any], rows: Iterable[Sequence[Any]]) -> Html:
    """A table whose first column names the rows. A wide table scrolls without moving the page."""
    top = tag("thead", tag("tr", *(tag("th", name, scope="col") for name in head))) if head else ""
    body = (tag("tr", tag("th", first, scope="row"), *(tag("td", v) for v in rest)) for first, *rest in rows)
    return scrolling(tag("table", top, tag("tbody", *body)))


def scrolling(inside: Html) -> Html:
    """Content that may be wider than a phone."""
    return tag("div", inside, class_="wide")


def folded(summary: str, *inside: Any) -> Html:
    """Content that is shown on request."""
    return tag("details", tag("summary", summary), *inside)


def figure(title: str, picture: Html, how: str, **attributes: Any) -> Html:
    """A picture with its title, and a sentence that says how to read it."""
    return tag("figure", tag("h3", title), picture, tag("figcaption", how), **attributes)


def number(value: float) -> str:
    """A number with at most one decimal.

    Examples
    --------
    >>> number(12.3456), number(3.0), number(-0.04)
    ('12.3', '3', '0')

    """
    return f"{round(value, 1) + 0.0:g}"


def percent(share: float) -> str:
    """A share in percent; the space before the sign does not break.

    Examples
    --------
    >>> percent(0.958).split()
    ['95.8', '%']

    """
    return "unknown" if share != share else f"{100 * share:.1f}\u00a0%"


def count(n: float, one: str, many: str | None = None) -> str:
    """A count with its noun.

    Examples
    --------
    >>> count(1, "event"), count(12345, "event")
    ('1 event', '12,345 events')

    """
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def left_out(units: int, most: int) -> str:
    """A sentence for when not all are shown."""
    return f" The first {most} of {units:,} are shown." if units > most else ""
