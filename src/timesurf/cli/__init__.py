"""The command line: one file a group of commands."""

from timesurf.cli import demo, digits, sentences, speed  # noqa: F401  # each adds its commands
from timesurf.cli.app import app, main

__all__ = ["app", "main"]
