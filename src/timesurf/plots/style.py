"""The look of pictures: colours that colour-blind readers can distinguish, and strokes and markers that differ too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from timesurf.errors import MissingEngineError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = NDArray[Any]

# Okabe and Ito's colours without yellow, which is hard to see on white; neighbours differ in luminance too
BLUE, ORANGE, GREEN, SKY = "#0072B2", "#E69F00", "#009E73", "#56B4E9"
VERMILLION, PURPLE, BLACK = "#D55E00", "#CC79A7", "#000000"
COLOURS = (BLUE, ORANGE, GREEN, PURPLE, VERMILLION, SKY, BLACK)
REJECTED = "#b0b0b0"  # rejected events
FAINT = "#dddddd"
STROKES = ("-", "--", "-.", ":")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")


def line(n: int) -> dict[str, Any]:
    """Colour and stroke of the n-th line of a picture; 28 of them differ.

    Examples
    --------
    >>> len({tuple(line(n).values()) for n in range(28)})
    28

    """
    return {"color": COLOURS[n % len(COLOURS)], "linestyle": STROKES[n % len(STROKES)]}


def points(n: int) -> dict[str, Any]:
    """Colour and marker of the n-th group of points; 63 of them differ."""
    return {"color": COLOURS[n % len(COLOURS)], "marker": MARKERS[n % len(MARKERS)]}


def figure(
    rows: int, columns: int, size: tuple[float, float], *, projection: str | None = None
) -> tuple[Figure, Array]:
    """Make a figure that needs no screen.

    Parameters
    ----------
    rows, columns : int
        Axes down and across.
    size : tuple of float
        Width and height in inches.
    projection : str, optional
        Projection of the axes, such as "3d".

    Returns
    -------
    fig : Figure
        The figure.
    axes : array of Axes, shape (rows, columns)
        Its axes.

    Raises
    ------
    MissingEngineError
        If matplotlib is not installed.

    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingEngineError("Pictures need matplotlib: pip install 'timesurf[plots]'.") from error
    fig = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(fig)
    axes = fig.subplots(rows, columns, squeeze=False, subplot_kw={"projection": projection})
    for ax in axes.flat:
        ax.set_prop_cycle(color=COLOURS)
    return fig, axes


def formats() -> tuple[str, ...]:
    """The formats that pictures can be written in: the suffixes of their files.

    Raises
    ------
    MissingEngineError
        If matplotlib is not installed.

    Examples
    --------
    >>> {"png", "pdf", "svg"} <= set(formats())
    True

    """
    fig, _ = figure(1, 1, (1, 1))
    return tuple(fig.canvas.get_supported_filetypes())


def given(ax: Axes | None, size: tuple[float, float], *, projection: str | None = None) -> Axes:
    """The axes to draw into: the given ones, or those of a new figure of this size in inches."""
    if ax is not None:
        return ax
    new: Axes = figure(1, 1, size, projection=projection)[1][0, 0]
    return new
