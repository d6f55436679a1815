"""Scripts of the project that are no package, as modules."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).parents[1]


def loaded(path):
    """The module in a file, named from the project's folder."""
    about = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
    module = importlib.util.module_from_spec(about)
    about.loader.exec_module(module)
    return module
