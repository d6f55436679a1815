"""The command line: one file per group of commands."""

from timesurf.cli import (  # noqa: F401  # each adds its commands
    data,
    demo,
    digits,
    doctor,
    exporting,
    family,
    learning,
    live,
    online,
    page,
    predicting,
    reading,
    reporting,
    robustness,
    searching,
    sending,
    senses,
    sentences,
    speed,
    spiking,
    training,
    using,
)
from timesurf.cli.app import app, main

reading.offer(app)

__all__ = ["app", "main"]
