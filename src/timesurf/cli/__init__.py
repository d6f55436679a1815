"""The command line: one file per group of commands."""

from timesurf.cli import (  # noqa: F401  # each adds its commands
    data,
    demo,
    digits,
    doctor,
    exporting,
    learning,
    live,
    predicting,
    reporting,
    searching,
    senses,
    sentences,
    speed,
    using,
)
from timesurf.cli.app import app, main

__all__ = ["app", "main"]
