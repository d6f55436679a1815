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
from timesurf.cli.app import app, main, ordered

reading.offer(app)
ordered(
    app,
    {
        "From recordings to decisions": ("train", "evaluate", "report", "predict"),
        "Live": ("live", "stream", "send"),
        "What a trained network can do": ("adapt", "extend", "tighten", "export"),
        "Better settings": ("search",),
        "Data": ("inspect", "convert", "simulate"),
        "This machine, and the paper": ("demo", "doctor", "warmup", "bench"),
    },
)

__all__ = ["app", "main"]
