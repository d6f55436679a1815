"""Options that many commands share, added to them in one place."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, get_type_hints

Options = dict[str, Any]


def extended(
    command: Callable[..., None],
    added: Options,
    call: Callable[[Options, Options], None],
    hidden: tuple[str, ...] = (),
) -> Callable[..., None]:
    """A command with more options at the end.

    Parameters
    ----------
    command : callable
        As typer takes it.
    added : dict
        What the new options are annotated with, by name; none of them has to be given.
    call : callable
        Called in place of the command: with its own options, and with the new ones.
    hidden : tuple of str
        Parameters of the command that are no options, since `call` provides them.

    Returns
    -------
    callable
        For typer.

    """
    signature, hints = inspect.signature(command), get_type_hints(command, include_extras=True)
    own = [of.replace(annotation=hints[name]) for name, of in signature.parameters.items() if name not in hidden]
    keyword = inspect.Parameter.POSITIONAL_OR_KEYWORD
    more = [inspect.Parameter(name, keyword, default=None, annotation=of) for name, of in added.items()]

    @functools.wraps(command)
    def longer(**options: Any) -> None:
        found = {name: options.pop(name) for name in added}
        call(options, found)

    longer.__signature__ = signature.replace(parameters=[*own, *more])  # type: ignore[attr-defined]
    longer.__annotations__ = {of.name: of.annotation for of in (*own, *more)}
    return longer
