"""The page of the reference: every module that can be imported here, in groups. Written when the site is built."""

import importlib
import inspect
import pkgutil
from pathlib import Path

MOST_USED = (
    "estimator.Sup3rClassifier", "model.Network", "events.Recordings", "layers.Window", "layers.Tile", "layers.Full",
    "rule.Rule", "presets.Preset", "engines.Outcome",
)  # fmt: skip
GROUPS = {
    "Events and data": ("events", "io", "transforms", "datasets", "times"),
    "The network and the rule": ("layers", "rule", "init", "model", "estimator", "presets", "modelfile"),
    "Learning": ("training", "checkpoints", "adapting", "growth", "together", "search"),
    "Live streams": ("stream", "backlog"),
    "Many machines, many settings": ("cluster", "decisions", "remote", "search"),
    "Figures and pictures": ("metrics", "plots", "report"),
    "Engines": ("engines",),
    "What Sup3r is compared with": ("baselines", "bench"),
    "Errors": ("errors",),
}
HIDDEN = ("cli", "__main__", "files", "filters", "mapped")  # a page of its own; helpers without a user
INSIDE = (  # kernels and helpers that only their neighbours call
    "bench.machine", "bench.workloads", "datasets.exposure", "engines.cudablocks", "engines.cudaplan",
    "engines.exchange", "engines.geometry", "engines.lanes", "engines.online", "engines.frozen", "engines.plan",
    "engines.vector", "plots.checks",
)  # fmt: skip


def modules(package):
    """All modules of the package by name; those that need what is not installed are left out."""
    found = {}
    for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        name = info.name.removeprefix(f"{package.__name__}.")
        if name in INSIDE or name.split(".")[0] in HIDDEN or any(part.startswith("_") for part in name.split(".")):
            continue
        try:
            found[name] = importlib.import_module(info.name)
        except ImportError:
            continue
    return {name: module for name, module in found.items() if not _told_by_package(name, found)}


def _told_by_package(name, found):
    """Whether the package above offers everything that this module defines, and so documents it."""
    above = found.get(name.rpartition(".")[0])
    offered = getattr(above, "__all__", ())
    mine = [
        n
        for n, v in vars(found[name]).items()
        if not n.startswith("_")
        and (inspect.isclass(v) or inspect.isfunction(v))
        and v.__module__ == found[name].__name__
    ]
    return bool(offered) and set(mine) <= set(offered)


def write(folder):
    """`reference.rst`, from which autosummary makes a page a module."""
    import timesurf

    found = modules(timesurf)
    lines = [
        "Reference", "=========", "",
        "Every public name, from the docstrings of the code. What needs a GPU or PyTorch is listed where that is",
        "installed.", "",
        "Most used", "---------", "",
        ".. autosummary::", "   :nosignatures:", "",
        *(f"   timesurf.{name}" for name in MOST_USED), "",
        "The names above can be imported from ``timesurf`` itself, except those of ``presets``.", "",
    ]  # fmt: skip
    left = dict(found)
    for title, heads in GROUPS.items():
        names = [name for head in heads for name in left if name == head or name.startswith(f"{head}.")]
        left = {name: module for name, module in left.items() if name not in names}
        lines += _group(title, names)
    lines += _group("Others", list(left))
    text = "\n".join(lines)
    path = Path(folder) / "reference.rst"
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def _group(title, names):
    if not names:
        return []
    table = [".. autosummary::", "   :toctree: api", "", *(f"   timesurf.{name}" for name in names), ""]
    return [title, "-" * len(title), "", *table]
