"""An animation of a recording: its events, those that the network keeps, and the decision so far."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from timesurf.errors import SettingError
from timesurf.events import Recordings
from timesurf.inference import layer_number
from timesurf.metrics import SILENT, decide
from timesurf.network import Network
from timesurf.plots import style
from timesurf.plots.checks import one
from timesurf.plots.running import votes_so_far
from timesurf.plots.style import Array
from timesurf.storage.atomic import replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_AFTERGLOW = 0.15  # seconds of playing time in which an event fades to 1 / e
_BARS = 10  # classes with a bar, at most
_DPI = 100
_WIDE = 3  # times as wide as high


def animate(
    network: Network,
    recording: Recordings,
    path: str | Path,
    *,
    layer: int = -1,
    seconds: float = 5.0,
    fps: float = 20.0,
) -> Path:
    """Write an animation of a recording, slowed down or sped up to last `seconds`.

    The left half, or the upper half for a field that is far wider than high, is the field, x to the right and y down:
    an event lights up and fades, blue if the layer keeps it, grey if not. With the last layer, the default, blue events
    are votes. The other half is each class's share of the votes so far, the leading class dark; of more than ten
    classes, those with most votes at the end. The file is written completely or not at all.

    Parameters
    ----------
    network, recording
        As for `plots.kept`.
    path : str or Path
        A .gif, or an .mp4 where ffmpeg is installed.
    layer
        As for `plots.kept`.
    seconds : float
        Playing time.
    fps : float
        Frames per second.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    SettingError
        If the playing time, the frame rate or the kind of file is not possible.

    """
    path, k = Path(path), layer_number(network.stages, layer)
    if not (math.isfinite(seconds * fps) and seconds > 0 and fps > 0):
        raise SettingError(f"seconds = {seconds!r} and fps = {fps!r} must be positive.")
    kept = network.trace(one(recording)).passed > k
    fig, axes = style.figure(*_layout(recording.field), (8, 4))
    writer = _writer(path, fps)
    screen = _Screen(axes.flat[0], recording, kept, seconds)
    board = _Board(axes.flat[1], network, recording)
    times = recording.t[0] + np.ptp(recording.t) * np.linspace(0, 1, max(round(seconds * fps), 2))
    ends = np.searchsorted(recording.t, times, side="right")
    with replacing(path) as file, tempfile.TemporaryDirectory() as folder:
        draft = Path(folder) / f"draft{path.suffix.lower()}"
        fig.canvas.draw()
        fig.set_layout_engine("none")  # laid out once, so that nothing moves between frames and each is drawn quickly
        with writer.saving(fig, draft, dpi=_DPI):
            for now, end in zip(times, ends, strict=True):
                screen.show(now, end)
                board.show(end)
                writer.grab_frame()
        file.write(draft.read_bytes())
    return path


def _layout(field: tuple[int, ...]) -> tuple[int, int]:
    """Axes down and across: a field that is far wider than high lies above the bars, any other beside them.

    >>> _layout((30, 5)), _layout((34, 34)), _layout((64,))
    ((2, 1), (1, 2), (1, 2))
    """
    return (2, 1) if len(field) > 1 and field[0] > _WIDE * field[1] else (1, 2)


def _writer(path: Path, fps: float) -> Any:
    """The writer of matplotlib for this kind of file."""
    from matplotlib.animation import FFMpegWriter, PillowWriter

    if path.suffix.lower() == ".gif":
        return PillowWriter(fps=fps)  # type: ignore[arg-type]  # the stubs want an int
    if path.suffix.lower() != ".mp4":
        raise SettingError(f"{path.name}: an animation is a .gif or an .mp4 file.")
    if not FFMpegWriter.isAvailable():
        raise SettingError(f"{path.name}: an .mp4 file needs ffmpeg, which is not found. Install it, or write a .gif.")
    return FFMpegWriter(fps=fps, codec="h264", extra_args=["-pix_fmt", "yuv420p"])  # type: ignore[arg-type]


class _Screen:
    """The field, on which events light up and fade."""

    def __init__(self, ax: Axes, recording: Recordings, kept: Array, seconds: float) -> None:
        from matplotlib.colors import to_rgb
        from matplotlib.patches import Patch

        self.ax, self.t, self.kept, self.shown = ax, recording.t, kept, 0
        self.fade = max(float(np.ptp(recording.t)) * _AFTERGLOW / seconds, 1.0)
        self.colours = np.array([to_rgb(style.REJECTED), to_rgb(style.BLUE)])
        coords, shape = (*recording.coords, recording.p)[:2], (*recording.field, recording.polarities)[:2]
        if len(shape) < 2:  # events without coordinates are drawn as a line of polarities
            coords, shape = (*coords, np.zeros_like(recording.p)), (*shape, 1)
        self.x, self.y = coords
        self.last = np.full(shape, -np.inf)  # time of the last event of each pixel
        self.blue = np.zeros(shape, dtype=np.intp)  # 1 where that event was kept
        self.image = ax.imshow(self.pixels(0), interpolation="nearest", aspect="equal" if min(shape) > 2 else "auto")
        ax.set(xticks=[], yticks=[])
        ax.legend(
            handles=[Patch(color=style.BLUE, label="kept"), Patch(color=style.REJECTED, label="rejected")],
            loc="upper center", bbox_to_anchor=(0.5, -0.02), ncols=2, fontsize=9, frameon=False,
        )  # fmt: skip
        ax.set_title("0.00 ms")

    def pixels(self, now: float) -> Array:
        """Colours of the field at this time."""
        glow = np.exp((self.last - now) / self.fade)[..., None]
        return np.asarray((1 - glow + glow * self.colours[self.blue]).swapaxes(0, 1))

    def show(self, now: float, end: int) -> None:
        """Show the field at this time, after the first `end` events."""
        new = slice(self.shown, end)
        self.last[self.x[new], self.y[new]] = self.t[new]
        self.blue[self.x[new], self.y[new]] = self.kept[new]
        self.shown = end
        self.image.set_data(self.pixels(now))
        self.ax.set_title(f"{(now - self.t[0]) / 1e3:.2f} ms")


class _Board:
    """Bars: each class's share of the votes so far."""

    def __init__(self, ax: Axes, network: Network, recording: Recordings) -> None:
        shares = votes_so_far(network, recording)
        self.chosen = np.sort(np.argsort(-shares[-1], kind="stable")[:_BARS])
        self.ax, self.shares = ax, shares[:, self.chosen]
        truth = int(network.class_numbers(recording)[0])
        self.names = [str(network.classes[c]) for c in self.chosen]
        rows = np.arange(len(self.chosen))
        self.bars = ax.barh(rows, np.zeros(len(rows)), color=style.SKY)
        ax.set_yticks(rows, [f"{n} (true)" if c == truth else n for c, n in zip(self.chosen, self.names, strict=True)])
        middle, room = (len(rows) - 1) / 2, max(len(rows), 5) / 2 + 0.1
        ax.set(xlim=(0, 1), ylim=(middle + room, middle - room), xlabel="share of votes so far")
        ax.set_title("no decision yet")

    def show(self, end: int) -> None:
        """Show the shares after the first `end` events."""
        shares = self.shares[end - 1]
        leader = int(decide(shares).classes)
        for n, (bar, share) in enumerate(zip(self.bars, shares, strict=True)):
            bar.set_width(share)
            bar.set_color(style.BLUE if n == leader else style.SKY)
        self.ax.set_title("no decision yet" if leader == SILENT else f"decision: {self.names[leader]}")
