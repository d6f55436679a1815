"""Networks that take different paths on the card."""

from timesurf import Full, Tile, Window
from timesurf.layers import stack

DIGITS = stack([Window(9, units=32, tau="10 ms"), Full(tau="1 ms")], (28, 28), 1, classes=10)
DEEPER = stack([Window(9, units=32, tau=1), Window(3, units=64, tau=1), Full(tau=1)], (28, 28), 1, classes=10)
FOUR = stack([Window(n, units=n + 8, tau=1) for n in (3, 5, 1)] + [Full(tau=1)], (6, 5), 2, classes=3)
POOLED = stack([Window(5, units=32, tau=1, stride=4), Full(tau=1, units_per_class=2)], (34, 34), 2, classes=8)
POOLED_TWICE = stack(
    [
        Window(3, units=8, tau=1, stride=(2, 1)), Window(3, units=12, tau=1, stride=3), Window(3, units=5, tau=1),
        Full(tau=1, units_per_class=3),
    ],
    (12, 11), 2, classes=3,
)  # fmt: skip
SENTENCES = stack([Tile((5, 5), units=3, tau=2000), Tile((3, 1), units=6, tau=1), Full(tau=1)], (30, 5), 1, classes=2)
TOO_LARGE = stack([Tile((200, 200), units=2, tau=1), Full(tau=1)], (400, 400), 1, classes=2)
