"""timesurf: classify recordings and streams of events with hierarchies of time surfaces that learn by local rules.

Start with `Sup3rClassifier` (scikit-learn's conventions) or `Network` (layers, parameters, engine). Events live in
`Recordings`; layers are `Window`, `Tile` and `Full`; the learning rule is `Rule`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

_HOME = {
    "Backlog": "live.backlog",
    "Checkpoints": "learning.checkpoints",
    "DivergedError": "errors",
    "EventError": "errors",
    "Full": "layers",
    "ModelFileError": "errors",
    "Network": "network",
    "Outcome": "engines",
    "Recordings": "events",
    "Rule": "rule",
    "Session": "live.session",
    "SettingError": "errors",
    "Sup3rClassifier": "estimator",
    "Tile": "layers",
    "TimesurfError": "errors",
    "Window": "layers",
}
__all__ = sorted([*_HOME, "__version__"])

if TYPE_CHECKING:
    from timesurf.engines import Outcome as Outcome
    from timesurf.errors import DivergedError as DivergedError
    from timesurf.errors import EventError as EventError
    from timesurf.errors import ModelFileError as ModelFileError
    from timesurf.errors import SettingError as SettingError
    from timesurf.errors import TimesurfError as TimesurfError
    from timesurf.estimator import Sup3rClassifier as Sup3rClassifier
    from timesurf.events import Recordings as Recordings
    from timesurf.layers import Full as Full
    from timesurf.layers import Tile as Tile
    from timesurf.layers import Window as Window
    from timesurf.learning.checkpoints import Checkpoints as Checkpoints
    from timesurf.live.backlog import Backlog as Backlog
    from timesurf.live.session import Session as Session
    from timesurf.network import Network as Network
    from timesurf.rule import Rule as Rule


def __getattr__(name: str) -> Any:
    """Import a public name from its module on first use: `import timesurf` itself stays quick."""
    if name in _HOME:
        return getattr(importlib.import_module(f"timesurf.{_HOME[name]}"), name)
    raise AttributeError(f"module 'timesurf' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
