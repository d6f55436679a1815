"""The terminal: text from outside is shown, never obeyed.

Names of classes and files come from other people's data. As they are, they could hold rich's markup (`[/bold]`) or
control characters, with which a terminal renames its window, moves its cursor or changes what has been printed.
"""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.status import Status
from rich.text import Text

# All control characters but a line feed; marks that reverse the direction of text; surrogates, which have no encoding.
_CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str) -> str:
    r"""Text with its control characters spelled out.

    Examples
    --------
    >>> print(visible("\x1b]0;owned\x07"))
    \x1b]0;owned\x07

    """
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


class Terminal(Console):
    """A console that prints text as it is, without markup, and spells out control characters.

    What is to look different is a `rich.text.Text` with a style.
    """

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, markup=False, emoji=False, highlight=False)

    def render_str(self, text: str, **how: Any) -> Text:
        """A string as it is laid out; spelled out first, so that columns keep their widths."""
        return super().render_str(visible(text), **how)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Whatever is printed, of tables, progress bars and styled text too."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(visible(segment.text), segment.style)

    def status(self, status: RenderableType, **how: Any) -> Status:
        """A spinner with text, which rich would take for markup."""
        return super().status(Text(status) if isinstance(status, str) else status, **how)


@contextmanager
def interrupted_when_ended() -> Iterator[None]:
    """What systems end a process by interrupts this block as Ctrl-C does: what it has done is saved.

    That is SIGTERM, and SIGBREAK on Windows.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may handle signals
        return
    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGBREAK") if hasattr(signal, name)]
    before = {number: signal.signal(number, signal.default_int_handler) for number in numbers}
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, before[number])


def bold(name: str, text: Any = "", style: str = "bold") -> Text:
    """A name in bold or another style, then text as it is."""
    return Text.assemble((name, style), str(text))
