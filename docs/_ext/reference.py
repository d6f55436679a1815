"""Write `reference.rst`: which modules are public, by room. Sphinx makes one page per module from it.

A module that only its neighbours call has no page, nor has one that only commands run (`paper`, `bench`). One that
needs a package which is not installed is left out.
"""

import importlib
import importlib.util
import pkgutil
from pathlib import Path

MOST_USED = (
    "estimator.Sup3rClassifier", "network.Network", "events.Recordings", "layers.Window", "layers.Tile", "layers.Full",
    "rule.Rule", "live.session.Session", "live.backlog.Backlog", "learning.checkpoints.Checkpoints", "engines.Outcome",
)  # fmt: skip
ROOMS = {  # "room.*" stands for every module of a room
    "Events and data": (
        "events", "times", "transforms", "transforms.disturbances", "transforms.preparation", "transforms.cutting",
        "io.*", "datasets.*",
    ),
    "The network and the rule": (
        "layers", "rule", "network", "predicting", "estimator", "presets", "modelfile",
    ),
    "Learning": (
        "learning.start", "learning.split", "learning.schedule", "learning.trainer", "learning.checkpoints",
        "learning.adapt", "learning.grow", "learning.together", "learning.law", "learning.sparsity",
    ),
    "Integrate-and-fire neurons": (
        "spiking", "spiking.layers", "spiking.rule", "spiking.start", "spiking.network", "spiking.nir",
    ),
    "Search": ("search", "search.space"),
    "Live streams": (
        "live.session", "live.early", "live.backlog", "live.one_by_one", "live.watch", "live.drift", "live.log",
        "live.pad",
    ),
    "Export to C": ("export", "export.check", "export.compiled", "export.model"),
    "Decisions, figures and pictures": ("metrics", "calibration", "results.*", "plots", "report"),
    "Engines": ("engines", "engines.dask.workers", "engines.dask.cluster"),
    "Files and addresses": ("storage.remote",),
    "Other methods": ("baselines.*",),
    "Errors": ("errors",),
}  # fmt: skip
INSIDE = (  # modules of these rooms that only their neighbours call
    "datasets.exposure", "datasets.exposure_cuda", "io.aedat2", "io.aedat3",
    "io.aedat4", "io.clock", "io.csv", "io.dat", "io.evt3", "io.faery_files", "io.hdf5", "io.nas", "io.ros",
    "results.machine",
)  # fmt: skip


def write(folder):
    """Write `reference.rst` into this folder, unless it is there already with the same text."""
    lines = [
        "Reference", "=========", "",
        "Every public name, from the docstrings of the code. What needs PyTorch is listed where that is installed.",
        "Terms are explained in the :doc:`glossary`.", "",
        "Most used", "---------", "",
        "These names can be imported from ``timesurf`` itself.", "",
        ".. autosummary::", "   :nosignatures:", "",
        *(f"   timesurf.{name}" for name in MOST_USED), "",
    ]  # fmt: skip
    for title in ROOMS:
        names = shown(title)
        lines += [title, "-" * len(title), "", ".. autosummary::", "   :toctree: api", ""]
        lines += [*(f"   {name}" for name in names), ""]
    text = "\n".join(lines)
    path = Path(folder) / "reference.rst"
    if not path.exists() or path.read_text("utf-8") != text:
        path.write_text(text, "utf-8")


def shown(*titles):
    """Full names of the modules that the reference shows, of these rooms or of all."""
    patterns = [pattern for title in titles or ROOMS for pattern in ROOMS[title]]
    return [name for pattern in patterns for name in _modules(pattern) if _importable(name)]


def _modules(pattern):
    """Full names of the modules that a pattern stands for."""
    name = f"timesurf.{pattern.removesuffix('.*')}"
    if importlib.util.find_spec(name) is None:
        raise LookupError(f"docs/_ext/reference.py shows {name}, which does not exist.")
    if not pattern.endswith(".*"):
        return [name]
    room = importlib.import_module(name)
    inside = {f"timesurf.{module}" for module in INSIDE}
    found = sorted(info.name for info in pkgutil.iter_modules(room.__path__, f"{name}."))
    return [module for module in found if module not in inside]


def _importable(name):
    """Whether the module can be imported with the packages that are installed here."""
    try:
        importlib.import_module(name)
    except ImportError as error:
        if (error.name or "").startswith("timesurf"):
            raise
        return False
    return True
